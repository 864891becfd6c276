//! A sweep shared by several processes, one of them killed, leaves the bytes that one process leaves.

mod sweep_support;

use std::process::Stdio;
use sweep_support::{AIRTCP, Place, alone, run, stderr};

#[test]
fn a_killed_shard_goes_on_and_the_merge_is_what_one_process_leaves() {
    let place = Place::new("killed");
    let mut child =
        place.command(AIRTCP, &run(&["--shard", "1/2", "--threads", "1"])).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_runs("sim-1-of-2", 2, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let second = place.airtcp(&run(&["--shard", "2/2"]));
    assert!(String::from_utf8_lossy(&second.stdout).contains("6 runs are in results/demo-"), "{}", stderr(&second));
    let home = place.home();
    let home = home.strip_prefix(place.path()).unwrap().to_str().unwrap();
    let early = place.airtcp(&["merge", home]);
    assert_eq!(early.status.code(), Some(1));
    assert!(stderr(&early).contains("missing: of shard 1/2"), "{}", stderr(&early));
    assert!(place.airtcp(&run(&["--shard", "1/2"])).status.success());
    let merged = place.airtcp(&["merge", home]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert!(String::from_utf8_lossy(&merged.stdout).contains("gsnoop"), "the table is printed");
    assert!(place.files() == alone());
    assert!(place.home().join("report.html").exists());
}

#[test]
fn runs_of_another_build_are_refused_until_one_says_what_to_do() {
    let place = Place::new("build");
    let mut child = place.command(AIRTCP, &run(&["--threads", "1"])).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_runs(".sim.partial", 1, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = place.home().join(".sim.partial");
    let kept = std::fs::read_to_string(&journal).unwrap();
    let version = format!("\"build\":\"{} ", env!("CARGO_PKG_VERSION"));
    assert!(kept.contains(&version));
    std::fs::write(&journal, kept.replacen(&version, "\"build\":\"0.0.9 ", 1)).unwrap();
    let refused = place.airtcp(&run(&[]));
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--resume uses them, --fresh drops them"), "{}", stderr(&refused));
    let resumed = place.airtcp(&run(&["--resume"]));
    assert!(stderr(&resumed).contains("continuing an interrupted sweep"), "{}", stderr(&resumed));
    let manifest = std::fs::read_to_string(place.home().join("sim/manifest.json")).unwrap();
    assert!(manifest.contains("\"0.0.9 ") && manifest.matches(env!("CARGO_PKG_VERSION")).count() >= 2, "{manifest}");
}

#[test]
fn nonsense_about_shards_is_bad_input() {
    let place = Place::new("nonsense");
    for (arguments, sentence) in [
        (vec!["run", "demo", "--shard", "3/2"], "2/8 is the second of eight shards"),
        (vec!["run", "demo", "--shard", "1/2", "--json"], "cannot be used with"),
        (vec!["run", "demo", "--emit", "torque"], "possible values: slurm, hyperqueue, dask"),
        (vec!["run", "demo", "--emit", "slurm", "--resume"], "cannot be used with"),
        (vec!["run", "demo", "--tasks", "3"], "--emit"),
        (vec!["merge"], "DIR"),
        (vec!["merge", "."], "no shards here"),
        (vec!["merge", "nowhere"], "cannot read nowhere"),
    ] {
        let output = place.airtcp(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(sentence), "{arguments:?}: {}", stderr(&output));
    }
}
