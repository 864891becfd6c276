//! A scheme that changes the rate of its egress while it runs does so in the simulator and in a live gateway alike.

use std::io::Write;
use std::process::Command;

/// Goodput in bit/s of half-rate.toml between `warmup` and `duration`.
fn goodput(warmup: &str, duration: &str, world: &[&str]) -> u64 {
    let name = format!("half-rate-{}-{duration}-{}", std::process::id(), world.len());
    let results = std::env::temp_dir().join(name);
    let sets = [format!("warmup={warmup}"), format!("duration={duration}")];
    let output = Command::new(env!("CARGO_BIN_EXE_own-scheme"))
        .args(["run", "half-rate.toml", "--json", "--set", &sets[0], "--set", &sets[1], "--results"])
        .arg(&results)
        .args(world)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&results);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    let (_, value) = shown.split_once("\"goodput_bps\"").expect("a goodput");
    let digits = value.trim_start_matches(|character: char| !character.is_ascii_digit());
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Payload is 1448 of 1500 bytes, so 8 Mbit/s carry 7.7 Mbit/s; a little more while a gap from before is filled.
fn halves_after_five_seconds(world: &[&str]) {
    let before = goodput("1s", "4s", world);
    assert!((6_900_000..=8_000_000).contains(&before), "{before} bit/s of 8 Mbit/s");
    let after = goodput("7s", "15s", world);
    assert!((3_400_000..=3_900_000).contains(&after), "{after} bit/s of 4 Mbit/s");
}

#[test]
fn the_simulator_halves_the_rate() {
    halves_after_five_seconds(&[]);
}

#[test]
fn live_a_gateway_halves_the_rate() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root || !std::path::Path::new("/dev/net/tun").exists() {
        if let Some(path) = std::env::var_os("AIRTCP_SKIP_LOG") {
            let mut log = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(log, "live_a_gateway_halves_the_rate: needs root and /dev/net/tun").unwrap();
        }
        return;
    }
    halves_after_five_seconds(&["--live"]);
}
