//! The test of a trunk's path, with a queue for all flows and with one for each on the way, and with nobody there.

mod live_support;

use airtcp_linux::finding::{Finding, Level};
use airtcp_linux::gateway::{Config, path_test};
use live_support::gateway::{Gateway, set_scheme};
use live_support::impostor::{SECRET, key_file};
use live_support::{Path, turn};

fn trunk(path: &Path, config: &mut Config, secret: &str) {
    set_scheme(config, "decoupling");
    config.insecure = false;
    config.key = Some(key_file(path, &format!("{}.key", config.name), secret));
}

/// What is found at `a`.
fn ask(path: &Path, config: &Config) -> Vec<Finding> {
    path.testbed.namespace("a").expect("a node").run(|| path_test::findings(config)).expect("a thread")
}

#[test]
fn live_a_path_is_asked_whether_header_packets_wait_behind_data() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let mut far = Gateway::spawn(&path, "b", |config| trunk(&path, config, SECRET));
    far.wait_for("running", |_| true);
    let peer = Gateway::spawn(&path, "a", |config| trunk(&path, config, SECRET));
    let near = peer.config.clone();
    // A gateway that runs here is in nobody's way, and none is needed.
    drop(peer);

    // A machine that is busy holds packets up, and then nothing is told from one try.
    let of_queue = |kind: &str, wanted: &dyn Fn(&[Finding]) -> bool| {
        let queue = format!("{{ kind = \"{kind}\", limit = \"200packets\" }}");
        path.restart(1, Some(&[("rate", "10Mbit"), ("queue", &queue)]));
        let mut tries = (0..3).map(|_| ask(&path, &near)).inspect(|findings| println!("{kind}: {findings:?}"));
        assert!(tries.any(|findings| wanted(&findings)), "{kind}");
    };
    of_queue("droptail", &|findings| {
        findings.len() == 1 && findings[0].level == Level::Good && !findings[0].what.contains("nothing is known")
    });
    of_queue("fq-codel", &|findings| {
        let overtook = |one: &Finding| one.level == Level::Warning && one.what.contains("overtook");
        findings.iter().any(|one| overtook(one) && one.fix.contains("carriage"))
    });

    let other_key = Config { key: Some(key_file(&path, "other.key", "another secret than theirs")), ..near.clone() };
    let found = ask(&path, &other_key);
    assert!(found[0].level == Level::Warning && found[0].what.starts_with("0 of 128 probes"), "{found:?}");
    let tunnel = Config { settings: [("carriage".to_owned(), "tunnel".into())].into(), ..near };
    assert_eq!(ask(&path, &tunnel)[0].level, Level::Good);
    far.wait_for("well", |status| status.control_ignored["stranger"] >= 128);
}
