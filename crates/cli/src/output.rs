//! Where words go: results to stdout, everything else to stderr.

use airtcp_experiment::table::Style;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// Warnings, and what `RUST_LOG` asks for, to stderr.
pub(crate) fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    // A second call, in a test, changes nothing.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .without_time()
        // Where stderr is gone there is nobody to tell, and nothing to end for.
        .log_internal_errors(false)
        .try_init();
}

/// Warnings to stderr: without a filter by `RUST_LOG`, which is as large as the rest of a small program.
pub(crate) fn start_plain_log() {
    let _ = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(std::io::stderr)
        .with_target(false)
        .without_time()
        .log_internal_errors(false)
        .try_init();
}

/// Colours for stdout: only on a terminal that knows them, and not with `NO_COLOR`.
pub(crate) fn style() -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style { coloured: !unwanted && can_be_drawn_on() }
}

/// True for a terminal that writes characters and nothing else.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// How many characters a line of stdout has room for: what `COLUMNS` says, or the terminal; `None` for a file or pipe.
pub(crate) fn columns() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    told.or_else(seen).filter(|columns| *columns > 0)
}

/// A text has room for so many characters beside its indentation, even where a line is shorter.
const NARROWEST: usize = 20;

/// `first` and behind it `text`, whose further lines are indented to `indent`, where lines have an end.
pub(crate) fn hang(first: &str, indent: usize, text: &str) -> String {
    let mut lines = first.to_owned();
    let Some(columns) = columns() else { return lines + text };
    let columns = columns.max(indent + NARROWEST);
    let (mut length, mut is_begin) = (first.chars().count(), true);
    for word in text.split(' ') {
        let size = word.chars().count();
        if !is_begin && length + 1 + size > columns {
            lines.push('\n');
            lines += &" ".repeat(indent);
            length = indent;
            is_begin = true;
        }
        if !is_begin {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += size;
        is_begin = false;
    }
    lines
}

/// A bar over `total` steps on stderr; hidden where stderr is no terminal.
pub(crate) fn progress(total: u64) -> ProgressBar {
    if is_dumb() || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    let template = "{bar:30} {pos}/{len} runs  {eta_precise} left  {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints to stderr like `eprintln!`, which panics where nothing can be written.
macro_rules! say {
    ($($words:tt)*) => { $crate::output::log(&format!($($words)*)) };
}
pub(crate) use say;

/// Prints to stderr, as far as there is one: a full disk must not end a gateway, or a run of an hour.
pub(crate) fn log(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Why something could not be written to stdout.
static LOST: OnceLock<String> = OnceLock::new();

/// Prints to stdout. A reader that went away (`| head`) is no error; any other is told at the end, by [`lost`].
pub(crate) fn print(text: &str) {
    let _ = print_while_read(text);
}

/// The same; false once nobody reads it any more, or it cannot be written.
pub(crate) fn print_while_read(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    match &written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(LOST.set(error.to_string())),
        _ => {}
    }
    written.is_ok()
}

/// True if stdout is a terminal that can be drawn on.
pub(crate) fn can_be_drawn_on() -> bool {
    !is_dumb() && std::io::stdout().is_terminal()
}

/// Why something that was to be printed to stdout is not there, if so: the command has failed then.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}
