//! A gateway leaves the machine as it found it, and never stands in the way of traffic:
//! whatever ends or stops its processes, the kernel forwards plainly.

mod gateway_support;

use gateway_support::{Net, RECEIVER, can_run, kill, sh};
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
    let marks = net.exec("a", "nft list ruleset");
    assert!(marks.contains("meta mark | 0x90000000"), "bits in use are avoided: {marks}");
    gateway.stop();
    assert_eq!(net.state("a"), before);
}

#[test]
fn the_boxs_own_traffic_is_never_diverted() {
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
    assert_eq!(of(&gateway), before);
    gateway.stop();
}

#[test]
fn a_killed_gateway_fails_open_at_once_and_the_next_start_removes_what_it_left() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let before = net.state("a");
    let gateway = net.gateway("a");
    gateway.kill_dash_nine();
    assert!(net.time_to_recover() < Duration::from_millis(700));
    let left = net.exec("a", "ip rule");
    assert_eq!(left.matches("proto 167").count(), 2, "{left}");
    net.gateway("a").stop();
    assert_eq!(net.state("a"), before);
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
    let mut gateway = net.gateway("a");
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
    config.peer = None;
    let (fine, text) = net.gateway_output("a", &config, "");
    assert!(!fine && text.contains("already runs on air"), "{text}");
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

#[test]
fn a_router_that_translates_addresses_is_refused_with_a_reason_and_left_as_it_was() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.exec(
        "a",
        "nft 'table ip nat { chain post { type nat hook postrouting priority 100; \
         oifname \"air\" masquerade; }; }'",
    );
    let before = net.state("a");
    let (fine, text) = net.gateway_output("a", &net.config("a"), "");
    assert!(!fine && text.contains("translates addresses") && text.contains("Fix:"), "{text}");
    assert_eq!(net.state("a"), before);
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
        "GET /metrics HTTP/1.1",
    )
    .unwrap();
    assert!(metrics.starts_with("HTTP/1.0 200 OK"), "{metrics}");
    assert!(metrics.contains("airtcp_packets_total{gateway=\"gwa\",kind=\"received_inner\"} 1"));
    gateway.stop();
}
