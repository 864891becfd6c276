//! What a machine is like does not stop a gateway: the wall clock is stepped by years, the machine has been up for ten, /etc
//! cannot be written to, there is no journal. Needs root and TUN.

mod machine_support;
mod row_support;

use airtcp_linux::sys::clock;
use airtcp_linux::sys::process::send_signal;
use airtcp_linux::testbed::check_available;
use airtcp_test_support::turn;
use machine_support::{Machines, ROUTERS, SteppedClock};
use signal_hook::consts::{SIGCONT, SIGKILL, SIGSTOP};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::sync::MutexGuard;
use std::time::Duration;

const YEAR: i64 = 31_556_952;

fn my_turn() -> Option<MutexGuard<'static, ()>> {
    turn(check_available().map_err(|why| why.to_string()))
}

/// The time of the last line of a log, in seconds since 1970.
fn last_time(log: &str) -> Option<i64> {
    let (_, time) = log.lines().last()?.split_once("\"time\":\"")?;
    time.split('.').next()?.parse().ok()
}

#[test]
fn live_a_wall_clock_that_is_stepped_by_years_changes_nothing_but_the_times_in_the_log() {
    let Some(_turn) = my_turn() else { return };
    let machines = Machines::new();
    let clock = SteppedClock::new(machines.scratch.path());
    let environment = clock.environment();
    let _programs = ROUTERS.map(|router| machines.start(router, &format!("{environment} exec"), &["--log", "json"]));
    machines.wait_for_both();
    let before = ROUTERS.map(|router| machines.status(router).expect("it runs"));
    for step in [YEAR, -2 * YEAR] {
        clock.step_to(step);
        let from = ROUTERS.map(|router| machines.status(router).expect("it runs").control["handshakes_received"]);
        // Sessions are renewed all the time; some of it under the new time.
        machines.wait_for("asking each other on", || {
            ROUTERS.iter().zip(from).all(|(router, from)| {
                machines.status(router).is_some_and(|status| status.control["handshakes_received"] > from + 3)
            })
        });
        assert!(machines.ping(), "after a step to {step} s");
        machines.ask("reload", "a").expect("the same file");
        let told = last_time(&machines.log("a")).expect("a line of JSON");
        let here = (clock::wall_clock_ns() / 1_000_000_000) as i64;
        assert!((told - here - step).abs() < 60, "the step was felt: {told}, {here}");
    }
    for (router, before) in ROUTERS.iter().zip(&before) {
        let after = machines.status(router).expect("it runs");
        assert_eq!((after.pid, after.restarts), (before.pid, 0), "{}", machines.log(router));
        assert!(after.conserved && after.diverting, "{after:?}");
    }
    // A life that begins two years before the last one is believed to be a new one.
    send_signal(before[0].pid, SIGKILL).expect("it lives");
    machines.wait_for("a new worker", || machines.status("a").is_some_and(|status| status.restarts == 1));
    machines.wait_for_both();
}

#[test]
fn live_a_gateway_of_a_machine_that_has_been_up_for_ten_years_works_and_its_dead_mans_switch_opens() {
    let Some(_turn) = my_turn() else { return };
    let machines = Machines::new();
    // One whose clock is ahead of the kernel's, and one whose clock begins anew, as in containers that were moved. A step of
    // 2^32 ms comes within the test.
    let from = clock::now();
    let uptime = std::fs::read_to_string("/proc/uptime").expect("procfs");
    let up: f64 = uptime.split(' ').next().and_then(|text| text.parse().ok()).expect("seconds");
    let before_wrap = 73 * (1_i64 << 32) / 1_000 - 3;
    let offsets = [before_wrap - up as i64, 60 - up as i64];
    let begin = |(router, offset): (&&str, i64)| {
        machines.start(router, &format!("exec unshare --time --monotonic {offset}"), &[])
    };
    let programs: Vec<_> = ROUTERS.iter().zip(offsets).map(begin).collect();
    machines.wait_for_both();
    let taken = || machines.status("a").expect("it runs").packets["received_inner"];
    while clock::now().saturating_since(from).as_millis() < 4_500 {
        let before = taken();
        assert!(machines.ping() && taken() > before, "{}", machines.log("a"));
    }
    let worker = machines.status("a").expect("it runs").pid;
    programs[0].signal(SIGSTOP).expect("it lives");
    send_signal(worker, SIGSTOP).expect("it lives");
    machines.wait_for("plainly forwarding", || machines.ping());
    send_signal(worker, SIGCONT).expect("it lives");
    programs[0].signal(SIGCONT).expect("it lives");
    machines.wait_for_both();
}

#[test]
fn live_an_etc_that_cannot_be_written_to_is_enough() {
    let Some(_turn) = my_turn() else { return };
    let machines = Machines::new();
    let etc = machines.etc("a").display().to_string();
    let read_only = format!(
        "mount --bind {etc} {etc}; mount -o remount,bind,ro {etc}; if touch {etc}/file 2>&-; then exit 9; fi; exec"
    );
    let _programs = [machines.start("a", &read_only, &[]), machines.start("b", "exec", &[])];
    machines.wait_for_both();
    // Who may write there changes the file.
    let text = std::fs::read_to_string(machines.file("a")).expect("a file");
    std::fs::write(machines.file("a"), text.replace("20Mbit", "18Mbit")).expect("a file");
    let told = machines.ask("reload", "a").expect("it is applied");
    assert!(told.contains("applied without a restart"), "{told}");
    assert!(machines.ping() && machines.status("a").is_some_and(|status| status.restarts == 0));
}

#[test]
fn live_a_journal_that_ends_or_is_not_there_leaves_the_lines_to_standard_error() {
    let Some(_turn) = my_turn() else { return };
    let machines = Machines::new();
    let journal = machines.path("a").join("journal");
    std::fs::create_dir(&journal).expect("a directory");
    let socket = UnixDatagram::bind(journal.join("socket")).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    // systemd says so where standard error leads to the journal.
    let with_journal = |router: &str, before: &str| {
        let log = std::fs::metadata(machines.log_path(router)).expect("a file");
        let place = "mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/journal;";
        machines.start(router, &format!("{place} {before} JOURNAL_STREAM={}:{} exec", log.dev(), log.ino()), &[])
    };
    let bind = format!("mount --bind {} /run/systemd/journal;", journal.display());
    let _programs = [with_journal("a", &bind), with_journal("b", "")];
    machines.wait_for_both();
    let receive = || {
        let mut line = vec![0; 4096];
        let length = socket.recv(&mut line).expect("a line for the journal");
        String::from_utf8_lossy(&line[..length]).into_owned()
    };
    let running = std::iter::repeat_with(receive).find(|line| line.contains("AIRTCP_EVENT=running"));
    assert!(running.is_some_and(|line| line.contains("AIRTCP_NAME=a")));
    assert_eq!(machines.log("a"), "");
    assert!(machines.log("b").contains("running"), "{}", machines.log("b"));

    drop(socket);
    let worker = machines.status("a").expect("it runs").pid;
    send_signal(worker, SIGKILL).expect("it lives");
    machines.wait_for("a new worker", || machines.status("a").is_some_and(|status| status.restarts == 1));
    machines.wait_for("told", || machines.log("a").contains("the kernel forwards"));
    machines.wait_for_both();
}
