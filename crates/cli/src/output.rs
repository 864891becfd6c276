//! Where words go: results to stdout, everything else to stderr.

use airtcp_experiment::table::Style;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};

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

/// Colours for stdout: only on a terminal, and not with `NO_COLOR`.
pub(crate) fn style() -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style { coloured: !unwanted && std::io::stdout().is_terminal() }
}

/// A bar over `total` steps on stderr; hidden where stderr is no terminal.
pub(crate) fn progress(total: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
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

/// Prints to stdout. A reader that went away (`| head`) is no error.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}
