//! `airtcp status --watch` as an operator meets it: in a terminal that tmux keeps, at two sizes, of daemons that this test plays.

use airtcp_test_support::{Scratch, skip};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const AIRTCP: &str = env!("CARGO_BIN_EXE_airtcp");

/// Answers whoever asks at a socket, as a daemon would; `answer` is told how often it was asked before.
fn play(directory: &Path, name: &str, answer: impl Fn(u64) -> Value + Send + 'static) {
    let listener = UnixListener::bind(directory.join(format!("{name}.sock"))).expect("a short path");
    std::thread::spawn(move || {
        for (asked, stream) in (0..).zip(listener.incoming()) {
            let mut stream = stream.expect("a client");
            let mut request = String::new();
            let _ = BufReader::new(&stream).read_line(&mut request);
            assert_eq!(request, "status\n");
            // A connection that only looks whether somebody is there gets its answer, too.
            let _ = writeln!(stream, "{}", answer(asked));
        }
    });
}

/// A gateway that was asked so often: its link carries 8 Mbit/s and loses 2 %.
fn gateway(name: &str, asked: u64) -> Value {
    json!({
        "schema": "airtcp.status/1", "name": name, "scheme": "local-recovery", "link": "wlan0", "peer": "10.9.0.2:4791",
        "peer_state": {"up": true, "why": "", "secured": true, "introduction": null},
        "pid": 1, "diverting": true, "takes": "all", "method": "tcx", "uptime_ns": 1, "restarts": 0,
        "packets": {"received_inner": 1000 * asked, "passed_unread": 3},
        "events": {"repairs": 20 * asked, "codes": 10 * asked, "flows_passed": 4},
        "created": {}, "discarded": {"queue_full": asked},
        "gauges": {"rate_bps": 9_000_000 + 100_000 * (asked % 10), "queue_bytes": 10_000 + 977 * (asked % 7),
                   "link_rtt_ns": 30_400_000, "flows": 12 + asked % 5},
        "conservation": {}, "conserved": true, "control": {}, "control_ignored": {}, "link_packets": {}, "clients": {},
        "devices": {"out": {"received_bytes": 1_000_000 * asked}, "in": {"sent_bytes": 20_000 * asked}},
        "confinement": {"capabilities": null, "system_calls_filtered": true, "failed": []}, "advice": null, "broken": null
    })
}

/// A hub whose every third peer is out of reach.
fn hub(asked: u64) -> Value {
    let peer = |n: u64| {
        let mut peer = gateway("", asked);
        peer["name"] = json!(format!("site-{n:02}"));
        peer["peer_state"]["up"] = json!(!n.is_multiple_of(3));
        peer["peer_state"]["why"] = json!("nothing is heard from it");
        peer
    };
    let mut hub = gateway("hub", asked);
    hub["peers"] = (0..12).map(peer).collect();
    hub
}

fn forwarder() -> Value {
    json!({
        "schema": "airtcp.forwarder/1", "name": "forward", "pid": 1, "uptime_ns": 1, "peer": "[2001:db8::2]:4791",
        "peer_state": {"up": true, "why": "", "secured": true, "introduction": null}, "state": "forwarding",
        "gauges": {"connections": 3, "memory": 4000}, "counters": {}, "broken": {}, "ignored": {}, "clients": {}
    })
}

/// A run directory with a gateway, a hub, a forwarder, and the socket of one that was killed.
fn daemons(directory: &Path) {
    play(directory, "air", |asked| gateway("air", asked));
    play(directory, "hub", hub);
    play(directory, "forward", |_| forwarder());
    drop(UnixListener::bind(directory.join("killed.sock")).expect("a short path"));
}

fn status(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(AIRTCP)
        .args(["status", "--run-directory"])
        .arg(directory)
        .args(arguments)
        .env_remove("COLUMNS")
        .output()
        .expect("it starts")
}

#[test]
fn one_page_and_a_line_of_json_are_for_those_without_a_terminal() {
    let scratch = Scratch::new("w");
    daemons(scratch.path());
    let page = String::from_utf8(status(scratch.path(), &["--watch", "--once"]).stdout).unwrap();
    let rows: Vec<&str> = page.lines().collect();
    assert!(rows.iter().all(|row| row.chars().count() <= 80) && !page.contains('\x1b'), "{page}");
    assert!(rows[2].starts_with("> air") && rows[2].contains("2.00%"), "{page}");
    assert_eq!(rows.iter().filter(|row| row.starts_with("  hub")).count(), 12, "{page}");
    assert!(page.contains("helped") && page.contains("4 new flows (the table is full)"), "{page}");
    assert!(page.contains("  killed") && page.contains("silent"), "{page}");

    let output = status(scratch.path(), &["--watch", "--once", "--json"]).stdout;
    let line: Value = serde_json::from_slice(&output).expect("JSON");
    let links = line["links"].as_array().unwrap();
    assert_eq!((line["schema"].as_str(), links.len()), (Some("airtcp.watch/1"), 15));
    let of = |name: &str| links.iter().find(|link| link["name"] == name).unwrap();
    assert_eq!((of("air")["loss"].as_f64(), of("air")["extra"].as_f64()), (Some(0.02), Some(0.01)));
    assert!(of("air")["carried_bps"].as_u64().unwrap() > 1_000_000);
    assert_eq!((of("forward")["flows"].as_u64(), of("killed")["state"].as_str()), (Some(3), Some("silent")));

    let none = status(scratch.path(), &["--watch"]);
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(none.status.code() == Some(1) && said.contains("no terminal") && said.contains("--once"), "{said}");
    assert_eq!(status(scratch.path(), &["--once"]).status.code(), Some(2), "--once is of --watch");
}

#[test]
fn a_reader_that_has_enough_ends_the_lines_of_json() {
    let scratch = Scratch::new("w");
    daemons(scratch.path());
    let mut command = Command::new(AIRTCP);
    command.args(["status", "--watch", "--json", "--run-directory"]).arg(scratch.path()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert!(lines.next().unwrap().unwrap().starts_with("{\"schema\":\"airtcp.watch/1\""));
    }
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A terminal that nobody looks at but the test.
struct Terminal<'a> {
    directory: &'a Path,
}

impl Terminal<'_> {
    /// Starts a shell command in one of that size.
    fn open<'a>(directory: &'a Path, width: u16, height: u16, command: &str) -> Terminal<'a> {
        std::fs::write(directory.join("tmux.conf"), "set -g status off\n").unwrap();
        let terminal = Terminal { directory };
        let (width, height) = (width.to_string(), height.to_string());
        terminal.tmux(&["new-session", "-d", "-s", "view", "-x", &width, "-y", &height, command]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.directory.join("tmux")).arg("-f").arg(self.directory.join("tmux.conf"));
        let output = command.args(arguments).env("LC_ALL", "C.UTF-8").env_remove("TMUX").output().expect("tmux runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-t", "view", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", "-t", "view", key]);
    }

    /// What is to be seen, as text.
    fn rows(&self) -> Vec<String> {
        let mut rows: Vec<String> =
            self.tmux(&["capture-pane", "-p", "-t", "view"]).lines().map(str::to_owned).collect();
        rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
        rows
    }

    /// Waits until it is to be seen.
    fn wait_for(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        for _ in 0..200 {
            let rows = self.rows();
            if wanted(&rows) {
                return rows;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{what} is not to be seen within 10 s: {:#?}", self.rows());
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let socket = self.directory.join("tmux");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").stderr(Stdio::null()).status();
    }
}

/// Where headings and labels stand: what must not move.
fn places(rows: &[String]) -> Vec<(usize, usize)> {
    let named = [
        "LINK",
        "PEER",
        "STATE",
        "RATE",
        "CARRIED",
        "LOSS",
        "EXTRA",
        "WAIT",
        "FLOWS",
        "rate  ",
        "wait  ",
        "loss  ",
        "extra  ",
        "helped  ",
        "dropped  ",
        "carried  ",
        "q: quit",
    ];
    let place = |name: &str| rows.iter().enumerate().find_map(|(at, row)| Some((at, row.find(name)?)));
    named.iter().map(|name| place(name).unwrap_or_else(|| panic!("no '{name}': {rows:#?}"))).collect()
}

/// The row that is chosen, by its mark alone.
fn chosen(rows: &[String]) -> &str {
    let marked: Vec<&String> = rows.iter().filter(|row| row.starts_with("> ")).collect();
    assert_eq!(marked.len(), 1, "{rows:#?}");
    marked[0]
}

#[test]
fn the_view_fits_its_terminal_and_stays_where_it_is_and_needs_no_colour() {
    if !Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return skip("the program 'tmux' is missing; install the package 'tmux'");
    }
    let scratch = Scratch::new("w");
    let directory = scratch.path();
    daemons(directory);
    let log = directory.join("log");
    let command = format!(
        "env -u COLUMNS LC_ALL=C.UTF-8 {AIRTCP} status --watch --run-directory {}; echo ended with $?; sleep 60",
        scratch.text()
    );
    let terminal = Terminal::open(directory, 80, 24, &command);
    for (width, height) in [(80, 24), (200, 50)] {
        terminal.resize(width, height);
        let is_whole = |rows: &[String]| {
            rows.len() == usize::from(height)
                && rows[usize::from(height) - 1].starts_with("q: quit")
                && rows.iter().any(|row| row.contains("2.00%"))
        };
        let first = terminal.wait_for("the view", is_whole);
        terminal.tmux(&["pipe-pane", "-t", "view", &format!("cat >>{}", log.display())]);
        let mut seen = vec![first];
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(400));
            seen.push(terminal.rows());
        }
        terminal.tmux(&["pipe-pane", "-t", "view"]);
        for rows in &seen {
            assert_eq!(rows.len(), usize::from(height));
            assert!(rows.iter().all(|row| row.chars().count() <= usize::from(width)), "{rows:#?}");
            assert_eq!(places(rows), places(&seen[0]), "something jumped");
            assert!(chosen(rows).starts_with("> air "), "{rows:#?}");
            assert!(rows[0].contains("10 of 15 are ok; look at hub site-00, hub site-03"), "{rows:#?}");
        }
        assert!(seen.iter().any(|rows| rows != &seen[0]), "nothing moves");
        // All is said in words: nothing has a colour.
        let coloured = terminal.tmux(&["capture-pane", "-p", "-e", "-t", "view"]);
        for sequence in coloured.split('\x1b').skip(1) {
            let codes = sequence.trim_start_matches('[').split('m').next().unwrap();
            let is_colour = |code: &str| matches!(code.parse::<u32>(), Ok(30..=38 | 40..=48 | 90..=107));
            assert!(!codes.split(';').any(is_colour), "{sequence:?}");
        }
        // That was two looks at most: never the whole page, and little for a slow line.
        let sent = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        assert!(!sent.contains("\x1b[2J") && sent.len() < 2 * 1_200, "{} bytes: {sent:?}", sent.len());
        std::fs::remove_file(&log).unwrap();
    }
    terminal.resize(80, 24);
    terminal.press("Down");
    terminal.wait_for("the next link", |rows| rows.iter().any(|row| row.starts_with("> forward")));
    terminal.press("j");
    let rows = terminal.wait_for("the hub's first peer", |rows| rows.iter().any(|row| row.starts_with("> hub")));
    assert!(chosen(&rows).contains("no peer"), "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("nothing is heard from it")), "{rows:#?}");
    terminal.press("End");
    let rows = terminal.wait_for("the last link", |rows| rows.iter().any(|row| row.starts_with("> killed")));
    assert!(chosen(&rows).contains("silent") && rows[1].contains("LINK"), "{rows:#?}");
    terminal.press("q");
    terminal.wait_for("the shell", |rows| rows.iter().any(|row| row == "ended with 0"));
}
