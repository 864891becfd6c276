use airtcp_core::parameters::Parameters;
use airtcp_core::*;
use airtcp_sim::dot11::CellSettings;
use airtcp_sim::*;
use airtcp_link::LinkSettings;
use airtcp_tcp::Config;
fn main() {
    let arg: Vec<String> = std::env::args().collect();
    let extra: Vec<(String,String)> = arg.iter().skip(2).filter_map(|a| a.split_once('=')).map(|(a,b)|(a.into(),b.into())).collect();
    let rows: Vec<(usize, usize, u32, f64, f64)> = vec![
      (1,1,100,3.509,1.0),(1,1,500,3.510,1.0),(1,5,100,4.505,0.971),(1,5,500,3.611,0.999),(1,5,1000,3.606,0.999),(1,20,100,4.740,0.529),(1,20,500,4.303,0.880),(1,20,1000,3.498,0.676),(1,80,100,4.685,0.213),(1,80,500,4.524,0.617),(1,80,1000,4.164,0.705),(2,5,100,4.591,0.999),(2,20,100,4.728,0.885)];
    let mut link = LinkSettings::default(); link.set("rate","100Mbit").unwrap(); link.set("queue","1000packets").unwrap();
    let seeds: u64 = arg.get(1).map_or(3, |x| x.parse().unwrap());
    for (del, n, q, good, jain) in rows {
        let (mut gs, mut js, mut zs, mut ev, mut cpu) = (vec![], vec![], vec![], 0u64, 0.0);
        for seed in 1..=seeds {
            let mut t = Topology::new();
            let ap = t.node("ap"); let r = t.node("router"); let h = t.node("host");
            let stas: Vec<_> = (0..n).map(|i| t.node(&format!("s{i}"))).collect();
            let mut c = CellSettings::default();
            c.set("basic_rate","2Mbit").unwrap(); c.set("queue","500packets").unwrap(); c.set("ap_queue",&format!("{q}packets")).unwrap();
            let mut tcp = Config::default();
            for (k,v) in [("controller","reno"),("recovery","sack"),("proportional_reduction","true"),("byte_counting","off"),("timestamps","false"),("mtu","1040"),("receive_buffer","65000B"),("min_rto","1s"),("rto_rule","rfc6298"),("tail_loss_probe","false"),("delayed_ack_timeout","200ms"),("quick_acks","0"),("window_scaling","false")] { tcp.set(k,v).unwrap(); }
            tcp.delayed_ack_segments = del as u32;
            for (k,v) in &extra { if c.set(k,v).is_err() { tcp.set(k,v).unwrap(); } }
            t.cell("wifi", ap, &stas, c);
            let mut l5 = link.clone(); l5.delay = Duration::from_millis(5); let mut l10 = link.clone(); l10.delay = Duration::from_millis(10);
            t.link("backhaul", ap, r, l5.clone(), l5); t.link("net", r, h, l10.clone(), l10);
            for (i, s) in stas.iter().enumerate() { t.flow(Flow { name: format!("f{i}"), from: *s, to: h, tcp: tcp.clone(), start: Duration::from_millis(1000+(500*i/n) as u64), size: None, ipv6: false }); }
            let secs = if n == 80 { 15 } else { 30 };
            let run = RunSettings { seed, duration: Duration::from_secs(4 + secs), warmup: Duration::from_secs(4), series: false, ..RunSettings::default() };
            let start = std::time::Instant::now();
            let o = t.run(&run).unwrap();
            cpu += start.elapsed().as_secs_f64();
            if let Some(f) = o.checks.failure() { println!("FAILED {f}"); }
            let x: Vec<f64> = o.flows.iter().map(|f| f.measured_bytes as f64 * 8.0 / secs as f64 / 1e6).collect();
            let sum: f64 = x.iter().sum(); gs.push(sum); js.push(sum*sum/(n as f64 * x.iter().map(|v| v*v).sum::<f64>())); zs.push(x.iter().filter(|v| **v < 1e-9).count() as f64);
            ev += o.events;
            if seed == 1 && arg.iter().any(|a| a == "v") { for d in &o.drops { println!("   {d:?}"); } let m = &o.cells[0]; println!("   {:?} contenders {:.2}", m.medium, m.medium.contenders as f64 / m.medium.exchanges as f64); }
        }
        let mean = |v: &Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
        println!("delack {del} n {n} q {q}: goodput {:.3} (ns-3 {good}) {:+.1} %  jain {:.3} ({jain}) nothing {:.1}  events {} cpu {:.3}", mean(&gs), (mean(&gs)/good-1.0)*100.0, mean(&js), mean(&zs), ev/seeds, cpu/seeds as f64);
    }
}
