//! Reloads of gateways under traffic: no flow breaks, and what cannot be applied leaves all as it was.

mod live_support;

use airtcp_core::{Duration, Event};
use airtcp_linux::gateway::divert::Method;
use airtcp_linux::gateway::{Config, ask_reload};
use live_support::gateway::Gateway;
use live_support::load::{Calm, Load, file_bytes};
use live_support::{AIR_BPS, Path, SCHEMES, is_long, sleep_ms, turn};

/// What a reload may cost.
const STALL_MAX: Duration = Duration::from_secs(1);
/// As in drills: other programs may have the cores meanwhile.
const STALL_ON_A_BUSY_MACHINE: Duration = Duration::from_secs(5);

/// Has the gateway read another configuration; what it says of that.
fn reload(gateway: &Gateway, change: impl FnOnce(&mut Config)) -> Result<String, String> {
    let mut config = gateway.config.clone();
    change(&mut config);
    reload_text(gateway, &serde_json::to_string(&config).unwrap())
}

fn reload_text(gateway: &Gateway, text: &str) -> Result<String, String> {
    let file = gateway.config.run_directory.join(format!("{}.json", gateway.config.name));
    std::fs::write(file, text).unwrap();
    let told = ask_reload(&gateway.config.run_directory, &gateway.config.name).expect("an answer");
    if told.last_refused { Err(told.last) } else { Ok(told.last) }
}

/// Egress queues: what a gateway has by itself, another target and limit, more queues, among which the packets are dealt anew, and
/// one queue for all. The last is for few flows: of 200 in it some would stand still without any reload.
const QUEUES: [&str; 4] = [
    "auto",
    "{ kind = \"fq-codel\", target = \"120ms\", interval = \"360ms\", limit = \"9000packets\", ways = 8, overdue = 1, spares_repeats = true }",
    "{ kind = \"fq-codel\", target = \"100ms\", interval = \"300ms\", flows = 2048, ways = 8, overdue = 1, spares_repeats = true }",
    "1200kB",
];

/// Has both gateways reload in turns while so many files cross them: the rate, the queue and how often repairs are tried change.
fn reload_under(path: &Path, gateways: &[Gateway; 2], flows: u64, reloads: u64) -> Calm {
    let load = Load::start(path, flows, file_bytes(flows));
    let queues = if flows > 20 { &QUEUES[..3] } else { &QUEUES };
    for done in 0..reloads {
        sleep_ms(50);
        let told = reload(&gateways[(done % 2) as usize], |config| {
            let queue = queues[done as usize / 2 % queues.len()];
            let told = [
                ("rate", format!("{}bit", AIR_BPS - done % 4 * 5_000_000)),
                ("queue", queue.to_owned()),
                ("tries", (6 + done % 5).to_string()),
            ];
            config.settings.extend(told.map(|(key, value)| (key.to_owned(), value.as_str().into())));
        });
        assert_eq!(told.as_deref(), Ok("applied without a restart"), "reload {done}");
    }
    load.finish()
}

fn reloads_break_no_flow(scheme: &str, flows: u64, reloads: u64) {
    let path = Path::up(&[("loss", "1%")]);
    let mut gateways = path.gateways_with(scheme);
    let workers = gateways.each_mut().map(Gateway::worker);
    let reloaded = reload_under(&path, &gateways, flows, reloads);
    println!("{scheme}, {flows} flows, {reloads} reloads: {reloaded}");
    if is_long() {
        // From the same beginning: gateways that know their link and were told a lower rate are another control.
        let fresh = Path::up(&[("loss", "1%")]);
        let _gateways = fresh.gateways_with(scheme);
        let undisturbed = Load::undisturbed(&fresh, flows, &reloaded);
        println!("{scheme}, {flows} flows, undisturbed: {undisturbed}");
        assert!(reloaded.together < STALL_MAX, "{reloaded}");
        reloaded.assert_no_worse_than(&undisturbed, STALL_MAX);
    }
    // Of many flows, each with a small share, one stalls by itself.
    assert!(flows > 20 || reloaded.longest() < STALL_ON_A_BUSY_MACHINE, "{reloaded}");
    for (gateway, worker) in gateways.iter_mut().zip(workers) {
        let status = gateway.assert_sound();
        assert_eq!((status.pid, status.restarts, status.reloads.asked), (worker, 0, reloads / 2), "{scheme}");
        assert!(status.peer_state.as_ref().is_some_and(|peer| peer.up), "{scheme}");
        // It is the same element, which never lost sight of the other.
        assert_eq!(status.events[Event::PEER_UP.label()], 1, "{scheme}");
    }
}

#[test]
fn live_reloads_under_traffic_break_no_flow() {
    let Some(_turn) = turn() else { return };
    for scheme in SCHEMES {
        if is_long() {
            [20, 200].into_iter().for_each(|flows| reloads_break_no_flow(scheme, flows, 100));
        } else {
            reloads_break_no_flow(scheme, 4, 10);
        }
    }
}

#[test]
fn live_a_reload_that_cannot_be_leaves_all_as_it_was_and_one_that_needs_it_brings_a_new_worker() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let [mut gateway, mut other] = path.gateways();
    let worker = gateway.worker();
    let refused = reload_text(&gateway, "no configuration").unwrap_err();
    assert!(refused.contains("gwa.json"), "{refused}");
    let renamed = reload(&gateway, |config| config.name = "else".into()).unwrap_err();
    assert!(renamed.contains("`name` cannot change"), "{renamed}");
    let gone = reload(&gateway, |config| config.link = "nowhere".into()).unwrap_err();
    assert!(gone.contains("no interface nowhere"), "{gone}");
    let settings = [("no_such".to_owned(), "1".into())];
    let unknown = reload(&gateway, |config| config.settings = settings.into()).unwrap_err();
    assert!(unknown.contains("no_such"), "{unknown}");
    let unreadable = reload(&gateway, |config| {
        config.insecure = false;
        config.key = Some("/nonexistent/link.key".into());
    });
    assert!(unreadable.unwrap_err().contains("/nonexistent/link.key"));
    let status = gateway.assert_sound();
    assert_eq!((status.pid, status.restarts, status.reloads.refused), (worker, 0, 5));

    // Not an address of this machine: the new worker says so, and the present one goes on.
    let elsewhere = reload(&gateway, |config| config.listen = Some("192.0.2.1:4791".parse().unwrap())).unwrap_err();
    assert!(elsewhere.contains("192.0.2.1:4791"), "{elsewhere}");
    assert_eq!(gateway.worker(), worker);
    let seed = reload(&gateway, |config| config.seed = Some(7)).unwrap();
    assert!(seed.contains("new worker; packets waited"), "{seed}");
    // Other hooks at the link cannot be handed over: the present one ends first.
    let clsact = reload(&gateway, |config| config.method = Some(Method::Clsact)).unwrap();
    assert!(clsact.contains("new worker; the kernel forwarded"), "{clsact}");
    // Nor can another link be: the worker for it fails after the former one has ended, and the former file holds.
    let moved = reload(&gateway, |config| {
        config.link = "wire".into();
        config.listen = Some("192.0.2.1:4791".parse().unwrap());
    });
    assert!(moved.unwrap_err().contains("192.0.2.1:4791"));
    gateway.wait_in_reach();
    other.wait_in_reach();
    let status = gateway.assert_sound();
    assert_eq!((status.link.as_str(), status.reloads.asked, status.reloads.refused), ("air", 9, 7));
    assert!(gateway.log().contains("Reloaded") && gateway.log().contains("Kept"));
}
