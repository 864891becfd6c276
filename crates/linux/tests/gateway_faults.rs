//! A gateway leaves the machine as it found it, and never stands in the way of traffic:
//! whatever ends or stops its processes, the kernel forwards plainly.

mod gateway_support;

use airtcp_linux::gateway::divert::Method;
use airtcp_linux::gateway::{Config, Status};
use gateway_support::{Gateway, Net, RECEIVER, can_run, kill, sh};
use std::time::Duration;

/// The kernel's dead man's switch, plus a margin for a busy machine.
const OPEN_AGAIN: Duration = Duration::from_millis(1_400);

/// Rules and marks of somebody else, with bits where ours would be.
fn add_foreign_rules(net: &Net) {
    net.exec("a", "ip rule add priority 5000 fwmark 0x01000000 lookup main");
    net.exec(
        "a",
        "nft 'table ip theirs { chain c { type filter hook prerouting priority -150; \
         ip daddr 192.0.2.1 meta mark set 0x00400000; }; }'",
    );
}

#[test]
fn ruleset_routes_and_settings_are_byte_equal_before_and_after_a_gateways_life() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    add_foreign_rules(&net);
    net.meet();
    let before = net.state("a");
    let gateway = net.gateway("a");
    assert_ne!(net.state("a"), before, "a running gateway is visible");
    assert!(net.ping() && net.ping_to(RECEIVER.1));
    let status = gateway.status().unwrap();
    assert!(status.packets["received_inner"] >= 2, "{:?}", status.packets);
    assert!(status.packets["received_link"] >= 2, "{:?}", status.packets);
    gateway.stop();
    assert_eq!(net.state("a"), before);
}

#[test]
fn without_programs_at_the_link_marks_avoid_bits_in_use_and_all_is_byte_equal_after_it() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    add_foreign_rules(&net);
    net.meet();
    let before = net.state("a");
    let gateway = net.gateway_with("a", second_best(&net), "");
    assert!(net.ping() && net.ping_to(RECEIVER.1));
    let status = gateway.status().unwrap();
    assert!(status.packets["received_inner"] >= 2 && status.packets["received_link"] >= 2, "{:?}", status.packets);
    assert_eq!((status.method, status.diverting), (Method::Routed, true));
    let marks = net.exec("a", "nft list ruleset");
    assert!(marks.contains("meta mark | 0x90000000"), "bits in use are avoided: {marks}");
    gateway.stop();
    assert_eq!(net.state("a"), before);
}

/// A gateway on `a` where the kernel runs no program at the link.
fn second_best(net: &Net) -> Config {
    Config { method: Some(Method::Routed), ..net.config("a") }
}

#[test]
fn what_the_box_itself_sends_is_never_diverted() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let gateway = net.gateway("a");
    let of = |gateway: &gateway_support::Gateway| gateway.status().unwrap().packets;
    let before = of(&gateway);
    net.exec("a", "ping -n -c3 -i0.2 -q 10.2.0.2");
    net.exec("a", "ping -n -c2 -i0.2 -q 10.3.0.2");
    net.exec("b", "ping -n -c2 -i0.2 -q fd02::1");
    net.exec("s", "ping -n -c2 -i0.2 -q 10.1.0.2");
    let after = of(&gateway);
    assert_eq!(after["received_inner"], before["received_inner"]);
    // What comes over the link for the box cannot be told from what is for somebody behind its NAT.
    assert_eq!(after["received_link"], before["received_link"] + 7);
    gateway.stop();
}

#[test]
fn a_killed_gateway_fails_open_at_once_and_leaves_nothing() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let before = net.state("a");
    net.gateway("a").kill_dash_nine();
    assert!(net.time_to_recover() < Duration::from_millis(700));
    let gone = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        net.state("a") == before
    });
    assert!(gone, "{}", net.state("a"));
    assert_eq!(net.exec("a", "tc filter show dev air egress"), "");
}

#[test]
fn what_a_killed_gateway_leaves_with_older_kernels_does_nothing_and_the_next_start_removes_it() {
    if !can_run() {
        return;
    }
    for method in [Method::Clsact, Method::Routed] {
        let net = Net::new();
        net.meet();
        let before = net.state("a");
        let config = Config { method: Some(method), ..net.config("a") };
        let gateway = net.gateway_with("a", config.clone(), "");
        assert!(net.ping() && net.ping_to(RECEIVER.1));
        assert_eq!(gateway.status().unwrap().packets["received_inner"], 2);
        gateway.kill_dash_nine();
        // Until the dead man's switch opens, the programs of clsact send packets into devices that are gone.
        assert!(net.time_to_recover() < OPEN_AGAIN);
        let (filters, rules) = (net.exec("a", "tc filter show dev air egress"), net.exec("a", "ip rule"));
        let left = (filters.contains("airtcp_leaving"), rules.matches("proto 167").count());
        assert_eq!(left, if method == Method::Routed { (false, 2) } else { (true, 0) });
        net.gateway("a").stop();
        assert_eq!(net.state("a"), before);
        assert_eq!(net.exec("a", "tc filter show dev air egress"), "");
    }
}

#[test]
fn a_start_waits_for_what_the_kernel_still_takes_apart_of_a_killed_gateway() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.exec("a", "ip tuntap add gwa-out mode tun");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            net.exec("a", "ip tuntap del gwa-out mode tun");
        });
        net.gateway("a").stop();
    });
    // One that stays is somebody else's.
    net.exec("a", "ip tuntap add gwa-out mode tun");
    let (fine, text) = net.gateway_output("a", &net.config("a"), "");
    assert!(!fine && text.contains("give this gateway another name"), "{text}");
}

#[test]
fn a_killed_worker_is_replaced() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let before = net.state("a");
    let mut gateway = net.gateway("a");
    kill(gateway.worker(), "KILL");
    assert!(net.time_to_recover() < Duration::from_secs(1));
    let status = gateway.wait_for("restarted", |status| status.restarts == 1);
    assert!(net.ping());
    assert!(gateway.status().unwrap().packets["received_inner"] > status.packets["received_inner"]);
    gateway.stop();
    assert_eq!(net.state("a"), before);
}

#[test]
fn a_stopped_worker_is_bypassed_by_the_kernel_and_replaced_by_the_supervisor() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let mut gateway = net.gateway("a");
    kill(gateway.worker(), "STOP");
    let outage = net.time_to_recover();
    assert!(outage < OPEN_AGAIN, "{outage:?}");
    gateway.wait_for("restarted", |status| status.restarts == 1);
    assert!(net.ping());
    gateway.stop();
}

#[test]
fn with_supervisor_and_worker_stopped_the_kernel_alone_opens_the_way() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let mut gateway = net.gateway("a");
    let worker = gateway.worker();
    gateway.signal("STOP");
    kill(worker, "STOP");
    let outage = net.time_to_recover();
    assert!(outage < OPEN_AGAIN, "{outage:?}");
    kill(worker, "CONT");
    gateway.signal("CONT");
    // The same worker, or another one if the supervisor was the first to run.
    gateway.wait_for("at work again", |status| net.ping() && status.packets["received_inner"] > 0);
    gateway.stop();
}

/// Gateways on both sides of the air that put packets into frames, in reach of each other.
fn framing_pair(net: &Net) -> [Gateway; 2] {
    let settings = std::collections::BTreeMap::from([("always_framed".into(), "true".into())]);
    let mut gateways = ["a", "b"].map(|host| {
        let config = Config { scheme: "local-recovery".into(), settings: settings.clone(), ..net.config(host) };
        net.gateway_with(host, config, "")
    });
    gateways.iter_mut().for_each(|gateway| drop(gateway.wait_for("in reach", is_at_work)));
    gateways
}

fn is_at_work(status: &Status) -> bool {
    status.diverting && status.gauges["peer_in_reach"] == 1
}

#[test]
fn with_frames_between_two_gateways_packets_pass_soon_after_the_other_one_notices() {
    if !can_run() {
        return;
    }
    // What the other gateway puts into frames until then is lost.
    let noticed = OPEN_AGAIN + Duration::from_millis(300);
    let net = Net::new();
    net.meet();
    let [mut a, b] = framing_pair(&net);
    for signal in ["KILL", "STOP"] {
        let before = a.status().unwrap().restarts;
        kill(a.worker(), signal);
        let outage = net.time_to_recover();
        assert!(outage < noticed, "{signal}: {outage:?}");
        a.wait_for("restarted", |status| status.restarts == before + 1 && is_at_work(status));
        let taken = |gateway: &Gateway| gateway.status().unwrap().packets["received_inner"];
        let before = taken(&a);
        assert!(net.ping() && taken(&a) > before);
    }
    let worker = a.worker();
    a.signal("STOP");
    kill(worker, "STOP");
    let outage = net.time_to_recover();
    assert!(outage < noticed, "{outage:?}");
    kill(worker, "CONT");
    a.signal("CONT");
    a.wait_for("at work again", is_at_work);
    a.kill_dash_nine();
    let outage = net.time_to_recover();
    assert!(outage < noticed, "{outage:?}");
    b.stop();
}

#[test]
fn a_stopped_supervisor_does_not_disturb_the_worker() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let gateway = net.gateway("a");
    let worker = gateway.worker();
    gateway.signal("STOP");
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(net.ping());
    gateway.signal("CONT");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(gateway.worker(), worker, "the worker was not blamed for the supervisor's pause");
    gateway.stop();
}

#[test]
fn the_loss_of_the_nft_table_restarts_the_worker() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let mut gateway = net.gateway_with("a", second_best(&net), "");
    let children = sh(&format!("cat /proc/{0}/task/{0}/children", gateway.worker()));
    let holder = children.split_whitespace().next().expect("nft runs").parse().unwrap();
    kill(holder, "KILL");
    gateway.wait_for("restarted", |status| status.restarts == 1);
    assert!(net.ping());
    assert!(net.exec("a", "nft list tables").contains("airtcp_gwa"));
    gateway.stop();
}

#[test]
fn a_second_gateway_on_a_link_is_refused_and_one_on_another_link_runs_beside_it() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let before = net.state("a");
    let first = net.gateway("a");
    let mut config = net.config("a");
    config.name = "other".into();
    // What both would listen at is not what is wrong.
    for peer in [config.peer, None] {
        config.peer = peer;
        let (fine, text) = net.gateway_output("a", &config, "");
        assert!(!fine && text.contains("already runs on air"), "{text}");
    }
    config.link = "wire".into();
    let second = net.gateway_with("a", config, "");
    assert!(net.ping() && net.ping_to(RECEIVER.1));
    for gateway in [&first, &second] {
        let packets = gateway.status().unwrap().packets;
        assert_eq!((packets["received_inner"], packets["received_link"]), (2, 2), "{packets:?}");
    }
    second.stop();
    first.stop();
    assert_eq!(net.state("a"), before);
}

/// Rules of a router that packets would meet differently if they passed it twice, and what a refusal says of them.
const IN_THE_WAY: [(&str, &str); 4] = [
    (
        "nft 'table ip t { chain c { type nat hook postrouting priority 100; oifname \"air\" masquerade; }; }'",
        "translates addresses",
    ),
    (
        "nft 'table ip t { chain c { type filter hook forward priority 0; iifname \"guest\" oifname \"air\" drop; }; }'",
        "filters what it forwards",
    ),
    ("ip rule add iif wire unreachable priority 9999", "ip -4 rule priority 9999"),
    ("sysctl -q -w net.ipv4.conf.all.src_valid_mark=1", "src_valid_mark"),
];

#[test]
fn without_programs_at_the_link_a_router_with_rules_in_the_way_is_refused_and_left_as_it_was() {
    if !can_run() {
        return;
    }
    for (rule, reason) in IN_THE_WAY {
        let net = Net::new();
        net.exec("a", rule);
        let before = net.state("a");
        let (fine, text) = net.gateway_output("a", &second_best(&net), "");
        assert!(!fine && text.contains(reason) && text.contains("Fix:"), "{text}");
        assert_eq!(net.state("a"), before);
    }
}

#[test]
fn without_programs_at_the_link_a_gateway_steps_aside_for_rules_that_come_later_and_comes_back_without_them() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let mut gateway = net.gateway_with("a", second_best(&net), "");
    net.exec("a", "nft 'table ip t { chain c { type filter hook forward priority 0; oifname \"wire\" counter; }; }'");
    let stepped_aside = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        gateway.said().contains("filters what it forwards")
    });
    assert!(stepped_aside && gateway.status().is_none() && net.ping(), "{}", gateway.said());
    net.exec("a", "nft delete table ip t");
    gateway.wait_for("back", |status| status.restarts > 0 && status.diverting);
    gateway.stop();
}

#[test]
fn a_machine_that_does_not_forward_is_refused_with_the_command_that_fixes_it() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.exec("a", "sysctl -q -w net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0");
    let (fine, text) = net.gateway_output("a", &net.config("a"), "");
    assert!(!fine && text.contains("sysctl -w net.ipv4.ip_forward=1"), "{text}");
}

#[test]
fn a_failed_start_leaves_nothing() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    // The second device's name is taken, so the start fails half way.
    net.exec("a", "ip tuntap add dev gwa-in mode tun");
    let before = net.state("a");
    let (fine, text) = net.gateway_output("a", &net.config("a"), "");
    assert!(!fine && text.contains("gwa-in"), "{text}");
    assert_eq!(net.state("a"), before);
}

#[test]
fn a_dry_run_shows_every_command_and_the_undo_and_changes_nothing() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let before = net.state("a");
    let (fine, text) = net.gateway_output("a", &net.config("a"), "--dry-run");
    assert!(fine, "{text}");
    for part in ["ip link set dev gwa-out", "`airtcp_leaving` and `airtcp_arriving` at air", "undo: kill"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (fine, text) = net.gateway_output("a", &second_best(&net), "--dry-run");
    assert!(fine, "{text}");
    for part in ["ip -4 rule add", "ip -6 route add", "flags owner", "undo: kill", "rule del"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(net.state("a"), before);
}

#[test]
fn status_and_metrics_are_served_and_silent_clients_are_harmless() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let gateway = net.gateway("a");
    let path = gateway.config.socket_path();
    let _silent: Vec<_> = (0..20).map(|_| std::os::unix::net::UnixStream::connect(&path)).collect();
    std::thread::sleep(Duration::from_millis(50));
    assert!(net.ping(), "packets do not wait for clients");
    drop(_silent);
    std::thread::sleep(Duration::from_millis(50));
    let metrics = airtcp_linux::gateway::status::ask(
        &gateway.config.run_directory,
        &gateway.config.name,
        // The last line feed is put there for every request.
        "GET /metrics HTTP/1.1\r\n\r",
    )
    .unwrap();
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    assert!(metrics.contains("airtcp_packets_total{gateway=\"gwa\",kind=\"received_inner\"} 1"));
    gateway.stop();
}
