//! Asking a program that was installed while a gateway runs whether it can take over.

use crate::sys::clock;
use crate::sys::process::{in_own_group, set_nonblocking};
use airtcp_core::Duration;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Who does not answer for so long is not trusted with packets.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);
/// Of what a program says so many bytes are kept.
const WORDS: usize = 4_096;

/// The command that puts `program` in the place of this process, with the arguments that this one was started with, once
/// `program` was run with `check` and had nothing against it. `beat` is called all the time.
///
/// # Errors
/// Why it cannot take over, in its own words if it has any.
pub fn checked(program: &Path, check: &[OsString], beat: &mut dyn FnMut()) -> Result<Command, String> {
    let name = program.display();
    if !program.exists() {
        return Err(format!("{name} is not there: install the new program at this path, and ask again"));
    }
    let (status, words) = run(program, check, beat).map_err(|error| format!("{name} does not start: {error}"))?;
    match status {
        Some(status) if status.success() => {
            let mut command = Command::new(program);
            command.args(std::env::args_os().skip(1));
            Ok(command)
        }
        Some(status) => Err(format!("{name} cannot take over ({status}): {}", last_line(&words))),
        None => Err(format!("{name} did not check file and machine within {PATIENCE}")),
    }
}

/// Runs it to its end, or kills it; what it said last.
fn run(program: &Path, arguments: &[OsString], beat: &mut dyn FnMut()) -> io::Result<(Option<ExitStatus>, String)> {
    let (mut said, speech) = io::pipe()?;
    set_nonblocking(said.as_fd())?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(speech.try_clone()?).stderr(speech);
    let mut child = in_own_group(&mut command).spawn()?;
    let (end, mut words) = (clock::now() + PATIENCE, Vec::new());
    let status = loop {
        beat();
        let ended = child.try_wait()?;
        // What is there; an error says that there is no more for now.
        let _ = said.read_to_end(&mut words);
        words.drain(..words.len().saturating_sub(WORDS));
        match ended {
            None if clock::now() < end => std::thread::sleep(LOOK),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            ended => break ended,
        }
    };
    Ok((status, String::from_utf8_lossy(&words).into_owned()))
}

fn last_line(words: &str) -> &str {
    words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it does not say why")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(script: &str) -> (Result<Command, String>, u32) {
        let mut beats = 0;
        let arguments = ["-c", script].map(OsString::from);
        (checked(Path::new("/bin/sh"), &arguments, &mut || beats += 1), beats)
    }

    #[test]
    fn a_program_that_has_nothing_against_it_takes_over_with_the_same_arguments() {
        let command = ask("exit 0").0.unwrap();
        assert_eq!(command.get_program(), "/bin/sh");
        assert!(command.get_args().eq(std::env::args_os().skip(1)));
    }

    #[test]
    fn one_that_fails_says_why_and_the_caller_goes_on_beating_meanwhile() {
        let (refused, beats) = ask("echo one; echo 'key: unreadable' >&2; sleep 0.2; exit 1");
        let why = refused.unwrap_err();
        assert!(why.contains("/bin/sh cannot take over") && why.ends_with("key: unreadable"), "{why}");
        assert!(beats > 2, "{beats}");
    }

    #[test]
    fn one_that_is_not_there_is_named() {
        let why = checked(Path::new("/nonexistent/airtcp"), &[], &mut || {}).unwrap_err();
        assert!(why.contains("/nonexistent/airtcp is not there"), "{why}");
    }
}
