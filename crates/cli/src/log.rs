//! The log of a daemon: lines for people, JSON for machines, or fields of the journal; bounded whatever happens.

use crate::{Failure, output};
use airtcp_core::{Duration, Instant};
use airtcp_linux::notice::{Level, Notice, What};
use airtcp_linux::sys::clock;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// So many lines of one kind at once...
const BURST: u32 = 10;
/// ... and then one in this time.
const REFILL: Duration = Duration::from_secs(6);
/// Where the journal listens (systemd.journal-fields(7)).
const JOURNAL: &str = "/run/systemd/journal/socket";

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Fields of the journal where standard error leads there, else text
    Auto,
    /// A line for people
    Text,
    /// A line of JSON
    Json,
}

/// The least grave level that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Threshold {
    Error,
    Warning,
    Info,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    /// How the log is written, to standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "auto")]
    log: Format,
    /// The least grave level that is written
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "info")]
    log_level: Threshold,
}

impl Options {
    /// Writes why a daemon does not start, or ends, where programs read its log: in the journal, or as JSON. People are told by the command,
    /// as of any failure. The line is named after the file, as the daemon's name may be what is wrong in it.
    pub(crate) fn refuse(self, kind: &'static str, file: &Path, failure: Failure) -> Failure {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let mut log = Log::new(kind, &name, self);
        if log.journal.is_none() && self.log != Format::Json {
            return failure;
        }
        let (error, code) = match failure {
            Failure::Input(error) => (error, 2),
            Failure::Failed(error) => (error, 1),
            failure => return failure,
        };
        log.write(&Notice { level: Level::Error, what: What::Refused, text: format!("{error:#}") });
        Failure::Code(code)
    }
}

/// The log of one daemon.
pub(crate) struct Log {
    /// The verb that runs it: `gateway` or `forward`.
    kind: &'static str,
    name: String,
    options: Options,
    journal: Option<UnixDatagram>,
    allowances: BTreeMap<What, Allowance>,
}

impl Log {
    /// Of the daemon `name`.
    pub(crate) fn new(kind: &'static str, name: &str, options: Options) -> Log {
        let journal = (options.log == Format::Auto && stderr_is_the_journal()).then(journal).flatten();
        Log { kind, name: name.to_owned(), options, journal, allowances: BTreeMap::new() }
    }

    /// Writes a line, if it matters enough and there were not too many of its kind.
    pub(crate) fn write(&mut self, notice: &Notice) {
        if !self.options.log_level.includes(notice.level) {
            return;
        }
        let allowance = self.allowances.entry(notice.what).or_default();
        match allowance.take(clock::now()) {
            Verdict::Omit => {}
            Verdict::Write => self.put(notice),
            Verdict::WriteAfter(omitted) => {
                let text = format!("{omitted} lines of the kind {} were left out", notice.what.label());
                self.put(&Notice::warning(What::Omitted, text));
                self.put(notice);
            }
        }
    }

    fn put(&self, notice: &Notice) {
        if let Some(journal) = &self.journal
            && journal.send(&fields(self.kind, &self.name, notice)).is_ok()
        {
            return;
        }
        output::log(&match self.options.log {
            Format::Json => json_line(self.kind, &self.name, notice, clock::wall_clock_ns()),
            Format::Auto | Format::Text => format!("airtcp {} {}: {}", self.kind, self.name, notice.text),
        });
    }
}

impl Threshold {
    fn includes(self, level: Level) -> bool {
        let least = match self {
            Threshold::Error => Level::Error,
            Threshold::Warning => Level::Warning,
            Threshold::Info => Level::Info,
        };
        level <= least
    }
}

/// As systemd says it: the device and inode that standard error had when it started us.
fn stderr_is_the_journal() -> bool {
    let said = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let stderr = std::fs::metadata("/proc/self/fd/2");
    stderr.is_ok_and(|stderr| said == format!("{}:{}", stderr.dev(), stderr.ino()))
}

fn journal() -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect(JOURNAL).ok()?;
    // A journal that does not read must not hold up a supervisor.
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// The journal's protocol: a line for each field.
fn fields(kind: &str, name: &str, notice: &Notice) -> Vec<u8> {
    let text = notice.text.replace('\n', " ");
    let (priority, what) = (notice.level.priority(), notice.what.label());
    format!(
        "MESSAGE={name}: {text}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER=airtcp\nAIRTCP_KIND={kind}\nAIRTCP_NAME={name}\n\
         AIRTCP_EVENT={what}\n"
    )
    .into_bytes()
}

fn json_line(kind: &str, name: &str, notice: &Notice, wall_clock_ns: u64) -> String {
    let time = format!("{}.{:03}", wall_clock_ns / 1_000_000_000, wall_clock_ns / 1_000_000 % 1_000);
    let (level, event) = (notice.level.label(), notice.what.label());
    json!({"time": time, "level": level, "kind": kind, "name": name, "event": event, "text": notice.text}).to_string()
}

/// How many lines of one kind may be written now.
#[derive(Default)]
struct Allowance {
    used: u32,
    /// When one of those used is given back.
    refill: Option<Instant>,
    omitted: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Write,
    /// So many were omitted before.
    WriteAfter(u64),
    Omit,
}

impl Allowance {
    fn take(&mut self, now: Instant) -> Verdict {
        while self.used > 0
            && let Some(due) = self.refill.filter(|due| *due <= now)
        {
            self.used -= 1;
            self.refill = Some(due + REFILL);
        }
        if self.used == 0 {
            self.refill = Some(now + REFILL);
        }
        if self.used == BURST {
            self.omitted += 1;
            return Verdict::Omit;
        }
        self.used += 1;
        match std::mem::take(&mut self.omitted) {
            0 => Verdict::Write,
            omitted => Verdict::WriteAfter(omitted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);

    #[test]
    fn a_flood_is_cut_to_ten_lines_a_minute_and_the_rest_is_counted() {
        let mut allowance = Allowance::default();
        let (mut written, mut omitted) = (0, 0);
        for second in 0..600 {
            for _ in 0..100 {
                match allowance.take(START + Duration::from_secs(second)) {
                    Verdict::Write => written += 1,
                    Verdict::WriteAfter(before) => (written, omitted) = (written + 1, omitted + before),
                    Verdict::Omit => {}
                }
            }
        }
        assert!((100..=111).contains(&written), "{written}");
        assert_eq!(written + omitted + allowance.omitted, 60_000, "none is forgotten");
        // After a quiet hour all is as at first.
        let later = START + Duration::from_secs(4_200);
        assert_eq!(allowance.take(later), Verdict::WriteAfter(60_000 - written - omitted));
        assert_eq!((1..BURST).filter(|_| allowance.take(later) == Verdict::Write).count() as u32, BURST - 1);
        assert_eq!(allowance.take(later), Verdict::Omit);
    }

    #[test]
    fn a_level_includes_what_is_graver() {
        let included = |threshold: Threshold| Level::ALL.iter().filter(|level| threshold.includes(**level)).count();
        assert_eq!([Threshold::Error, Threshold::Warning, Threshold::Info].map(included), [1, 2, 3]);
    }

    #[test]
    fn each_form_holds_all_of_a_line() {
        let notice = Notice::warning(What::PeerDown, "the peer \"x\"\nis gone");
        let json = json_line("gateway", "air", &notice, 1_700_000_000_123_456_789);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["time"], "1700000000.123");
        assert_eq!([&read["level"], &read["event"], &read["name"]], ["warning", "peer_down", "air"]);
        assert!(!json.contains('\n'));
        let fields = String::from_utf8(fields("gateway", "air", &notice)).unwrap();
        let lines: Vec<&str> = fields.lines().collect();
        assert_eq!(lines.len(), 6, "a line break in the text would be another field: {fields}");
        assert!(lines.iter().all(|line| line.contains('=')));
        assert!(lines.contains(&"PRIORITY=4") && lines.contains(&"AIRTCP_EVENT=peer_down"));
    }
}
