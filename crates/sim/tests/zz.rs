mod common;
use common::*;
use airtcp_core::Event;
#[test]
fn zz() {
    for wire in ["25ms", "10ms"] {
      let mut v = vec![];
      for seed in 1..=10 {
        let mut topology = airtcp_sim::Topology::new();
        let [sender, a, b, receiver] = ["sender", "a", "b", "receiver"].map(|name| topology.node(name));
        let w = link(&[("rate", "100Mbit"), ("delay", wire)]);
        topology.link("wire", sender, a, w.clone(), w);
        let q = if wire == "25ms" {"562kB"} else {"375kB"};
        let settings = link(&[("rate", "50Mbit"), ("delay", "20ms"), ("queue", q), ("loss","5%")]);
        let air = topology.link("air", a, b, settings.clone(), settings);
        let lan = link(&[("rate", "100Mbit"), ("delay", "0.1ms")]);
        topology.link("lan", b, receiver, lan.clone(), lan);
        topology.scheme("repair", air, &airtcp_schemes::gsnoop::ENTRY, &[]);
        topology.flow(bulk("bulk", sender, receiver, tcp(&[])));
        let o = topology.run(&airtcp_sim::RunSettings{seed, duration: airtcp_core::Duration::from_secs(24), warmup: airtcp_core::Duration::from_secs(4), ..Default::default()}).unwrap();
        assert_eq!(o.checks.failure(), None);
        let f = &o.flows[0];
        let s = of_ceiling(&o, 0.05)/5.0; v.push(s);
        println!("{wire} {seed} share {:.4} retr {} rtos {} rtt {:?} rep {} nh {} cm {} nack {} poll {} across {}", s, f.retransmitted_segments, f.rtos, (f.rtt.p50/1000,f.rtt.p99/1000), events(&o.schemes[0], Event::Repair), events(&o.schemes[0], Event::NotHere), events(&o.schemes[0], Event::CacheMiss), events(&o.schemes[0], Event::Nack), events(&o.schemes[0], Event::Poll), events(&o.schemes[0], Event::ReleasedAcrossGap));
        println!("   {:?}", o.drops);
        for s in f.series.iter().step_by(10) { print!("{}:{}/{} ", s.at.as_nanos()/1000_000_000, s.cwnd/1448, s.srtt.as_millis()); } println!();
      }
      v.sort_by(f64::total_cmp);
      println!("{wire} median {:.4} min {:.4} q25 {:.4}", v[5], v[0], v[2]);
    }
}
