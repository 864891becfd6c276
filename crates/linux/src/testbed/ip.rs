//! Running iproute2's `ip`.

use super::TestbedError;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

/// Feeds `commands` to one `ip -batch`, inside the namespace if one is named.
pub(crate) fn batch(namespace: Option<&str>, commands: &[String]) -> Result<(), TestbedError> {
    run(namespace, commands, Stdio::null(), false)
}

/// Like [`batch`] in the root namespace, for commands that print nothing. `lock` is locked until they are done, even if this
/// process is killed meanwhile: `ip` has it as its standard output.
pub(super) fn batch_under(lock: &File, commands: &[String]) -> Result<(), TestbedError> {
    let lock = lock.try_clone().map_err(TestbedError::io("hand the lock to 'ip'"))?;
    run(None, commands, lock.into(), false)
}

/// Like [`batch`], but goes on after a command that fails.
pub(super) fn batch_all(commands: &[String]) -> Result<(), TestbedError> {
    run(None, commands, Stdio::null(), true)
}

/// True if there is an `ip` to run.
pub(super) fn is_installed() -> bool {
    let status = Command::new("ip").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn run(namespace: Option<&str>, commands: &[String], stdout: Stdio, force: bool) -> Result<(), TestbedError> {
    if commands.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("ip");
    if let Some(namespace) = namespace {
        command.args(["-n", namespace]);
    }
    if force {
        command.arg("-force");
    }
    command.args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped());
    let cannot = || TestbedError::io("run 'ip -batch'");
    let mut child = command.spawn().map_err(cannot())?;
    let mut input = commands.join("\n");
    input.push('\n');
    let mut stdin = child.stdin.take().expect("asked for");
    // A pipe holds 64 KiB and `ip` reads as it goes; it can end early, as its exit status then shows.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(cannot())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(TestbedError::Ip { place: namespace.unwrap_or("the root namespace").into(), message: explain(&text, commands) })
}

/// The error output, with the command behind "Command failed -:7" spelled out.
fn explain(text: &str, commands: &[String]) -> String {
    let number = text.lines().find_map(|line| line.strip_prefix("Command failed -:"));
    let command = number
        .and_then(|number| number.trim().parse::<usize>().ok())
        .and_then(|number| commands.get(number.checked_sub(1)?));
    let first = text.lines().next().unwrap_or("no message").trim();
    match command {
        Some(command) => format!("'{command}': {first}"),
        None => first.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_not_the_line_number() {
        let commands = ["link set lo up".to_string(), "link set x up".to_string()];
        let text = "Cannot find device \"x\"\nCommand failed -:2\n";
        assert_eq!(explain(text, &commands), "'link set x up': Cannot find device \"x\"");
    }
}
