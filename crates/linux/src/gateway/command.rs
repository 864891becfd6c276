//! Running `ip` and `nft`: the tools an operator would use, so that every step can be shown
//! (`--dry-run`) and repeated by hand.

use crate::sys::process::in_own_group;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// Why a tool did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Not installed.
    #[error("the program '{program}' is missing; install it: apt-get install {package}")]
    Missing {
        /// What was looked for.
        program: String,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// It could not be started or waited for.
    #[error("`{command}` could not be run: {source}")]
    Start {
        /// The whole command.
        command: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It ran and failed.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The whole command.
        command: String,
        /// What it wrote to its standard error, on one line.
        message: String,
    },
}

/// Debian's package of a tool.
pub fn package_of(program: &str) -> &'static str {
    match program {
        "nft" => "nftables",
        "ip" | "tc" => "iproute2",
        "iperf3" => "iperf3",
        "ethtool" => "ethtool",
        _ => "procps",
    }
}

/// Runs a command and returns what it wrote.
///
/// # Errors
/// When it is missing, or failed; the message is the tool's own.
pub fn output(arguments: &[impl AsRef<str>]) -> Result<String, CommandError> {
    let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    let line = words.join(" ");
    let (program, rest) = words.split_first().expect("a command has a program");
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null());
    let result = in_own_group(&mut command).output().map_err(|source| match source.kind() {
        ErrorKind::NotFound => CommandError::Missing { program: (*program).into(), package: package_of(program) },
        _ => CommandError::Start { command: line.clone(), source },
    })?;
    if result.status.success() {
        return Ok(String::from_utf8_lossy(&result.stdout).into_owned());
    }
    Err(CommandError::Failed { command: line, message: one_line(&result.stderr) })
}

/// True if the program is on the search path.
pub fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}

/// A tool's message without line breaks and repeated blanks.
pub(crate) fn one_line(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_the_package_to_install() {
        let error = output(&["no-such-program-of-airtcp"]).unwrap_err();
        assert!(error.to_string().contains("apt-get install"), "{error}");
    }

    #[test]
    fn a_failing_program_is_quoted_with_its_own_message() {
        let error = output(&["ls", "/no such directory"]).unwrap_err();
        assert!(error.to_string().contains("no such directory"), "{error}");
    }
}
