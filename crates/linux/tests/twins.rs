//! The C of the kernel's controllers, compiled for user space, decides as its Rust twin.

mod live_support;

use airtcp_core::{Duration, Instant, Rng};
use airtcp_linux::bpf::newzag_settings;
use airtcp_tcp::congestion::newzag::{DeviationFrom, Lda, Settings, Weight};
use airtcp_tcp::congestion::{AckSample, CaEvent, CaState, Controller, Newzag, TcpSock};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles `tests/twin/<name>.c`; `None`, with the reason told, without a C compiler.
fn compile(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("twin-{name}"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-o"]).arg(&program);
    match command.arg(root.join("tests/twin").join(format!("{name}.c"))).status() {
        Ok(status) => {
            assert!(status.success(), "{compiler} does not compile it");
            Some(program)
        }
        Err(error) => {
            airtcp_test_support::skip(&format!("there is no C compiler '{compiler}': {error}"));
            None
        }
    }
}

/// Kinds of steps, as in twin/newzag.c.
const SAMPLE: u32 = 0;
const SSTHRESH: u32 = 1;
const TIMEOUT: u32 = 2;
const SET_STATE: u32 = 3;
/// The kernel's numbers of the states.
const STATES: [(CaState, u32); 5] =
    [(CaState::Open, 0), (CaState::Disorder, 1), (CaState::Cwr, 2), (CaState::Recovery, 3), (CaState::Loss, 4)];

/// What both are fed with, and what the Rust twin answers.
struct Session {
    newzag: Newzag,
    sk: TcpSock,
    rng: Rng,
    input: Vec<u8>,
    expected: Vec<u8>,
}

impl Session {
    fn new(settings: &Settings, seed: u64) -> Self {
        let sk = TcpSock::new(Rng::derive(seed, "twin"));
        let input = newzag_settings(settings);
        let newzag = Newzag::new(settings.clone());
        Session { newzag, sk, rng: Rng::derive(seed, "twin/steps"), input, expected: Vec::new() }
    }

    fn step(&mut self, kind: u32, small: u32, large: u64) {
        self.input.extend(kind.to_ne_bytes().into_iter().chain(small.to_ne_bytes()).chain(large.to_ne_bytes()));
    }

    /// An acknowledgment: mostly of a path of 20 to 120 ms, sometimes of any.
    fn acknowledge(&mut self) {
        let rtt_us = match self.rng.below(100) {
            0 => 1 + self.rng.below(1 << 28),
            1 => 1,
            _ => 20_000 + self.rng.below(100_000),
        };
        self.sk.tcp_mstamp = self.sk.tcp_mstamp.saturating_add(Duration::from_nanos(self.rng.below(20_000_000)));
        let sample = AckSample { pkts_acked: 1, rtt_us: rtt_us as i64, in_flight: 1 };
        self.newzag.pkts_acked(&mut self.sk, &sample);
        self.step(SAMPLE, rtt_us as u32, self.sk.tcp_mstamp.as_nanos() / 1000);
    }

    fn answer(&mut self, threshold: u32) {
        self.expected.extend(threshold.to_ne_bytes());
    }

    /// A loss, a timeout or a full queue.
    fn reduce(&mut self) {
        let windows = [self.rng.below(200), 1 << self.rng.below(32), self.rng.next_u64()];
        self.sk.snd_cwnd = windows[self.rng.below(3) as usize] as u32;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.lost_out = [0, 1, 1, 2, 3, 4, 50, u32::MAX][self.rng.below(8) as usize];
        self.sk.snd_ssthresh = self.newzag.ssthresh(&mut self.sk);
        self.answer(self.sk.snd_ssthresh);
        self.step(SSTHRESH, self.sk.snd_cwnd, u64::from(self.sk.lost_out));
        let (state, number) = STATES[self.rng.below(5) as usize];
        if state == CaState::Loss {
            self.newzag.cwnd_event(&mut self.sk, CaEvent::Loss);
            self.answer(self.sk.snd_ssthresh);
            self.step(TIMEOUT, self.sk.prior_cwnd, 0);
        }
        self.newzag.set_state(&mut self.sk, state);
        self.step(SET_STATE, number, 0);
    }
}

/// What the C says to `input`.
fn ask(program: &Path, input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success());
    output.stdout
}

#[test]
fn nzg_9_the_kernels_newzag_decides_as_the_simulators_on_a_million_samples() {
    let Some(program) = compile("newzag") else {
        return;
    };
    let clock = Duration::from_millis;
    let all = [
        Settings::default(),
        Settings { lda: Lda::Original, max_backlog: 0, ..Settings::default() },
        Settings { y: Weight::Y8, deviation_from: DeviationFrom::OldMean, ..Settings::default() },
        Settings { y: Weight::Y2, lda: Lda::Original, clock: clock(10), ..Settings::default() },
        Settings { y: Weight::Y6, clock: Duration::ZERO, max_backlog: u32::MAX, ..Settings::default() },
    ];
    for (seed, settings) in (0..).zip(all) {
        let mut session = Session::new(&settings, seed);
        session.sk.tcp_mstamp = Instant::ZERO + clock(seed * 5);
        for _ in 0..200_000 {
            session.acknowledge();
            if session.rng.below(4) == 0 {
                session.reduce();
            }
        }
        let mut expected = session.expected;
        let mut counted = 0;
        session.newzag.get_info(&mut |_, count| {
            expected.extend(count.to_ne_bytes());
            counted += count;
        });
        let answer = ask(&program, &session.input);
        let differs = answer.iter().zip(&expected).position(|(c, rust)| c != rust);
        assert_eq!((differs.map(|byte| byte / 4), answer.len()), (None, expected.len()), "seed {seed}, {settings:?}");
        assert!(counted > 50_000, "{counted}");
    }
}
