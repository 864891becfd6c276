//! The holder of our nft table: an interactive `nft` whose end takes the table along.
//!
//! A table with `flags owner` belongs to the netlink socket that made it. The child's standard
//! input is a pipe from us, and the kernel kills it when our thread ends, so it cannot outlive
//! us in either way.

use super::plan::Plan;
use crate::gateway::command::{CommandError, one_line, package_of};
use crate::gateway::predecessor;
use crate::sys::clock;
use crate::sys::poll::PollSet;
use crate::sys::process::{die_with_parent, in_own_group, set_nonblocking};
use airtcp_core::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

/// How long `nft` may take to load a table.
const LOAD_PATIENCE: Duration = Duration::from_secs(5);

/// A loaded table; dropping it unloads it.
pub struct OwnedTable {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    errors: ChildStderr,
}

impl OwnedTable {
    /// Loads the plan's table. It takes effect with the first heartbeat.
    ///
    /// # Errors
    /// `nft` is missing, or its own message.
    pub fn load(plan: &Plan) -> Result<OwnedTable, CommandError> {
        let owned_by_another = |error: &CommandError| matches!(error, CommandError::Failed { message, .. } if message.contains("not permitted"));
        predecessor::wait_out(owned_by_another, || OwnedTable::try_load(plan))
    }

    fn try_load(plan: &Plan) -> Result<OwnedTable, CommandError> {
        let mut table = OwnedTable::start().map_err(|source| match source.kind() {
            ErrorKind::NotFound => CommandError::Missing { program: "nft".into(), package: package_of("nft") },
            _ => CommandError::Start { command: "nft -i".into(), source },
        })?;
        let commands = format!("{}list table inet {}\n", plan.nft_command(), plan.nft_table());
        let start = |source| CommandError::Start { command: "nft -i".into(), source };
        table.input.as_mut().expect("just started").write_all(commands.as_bytes()).map_err(start)?;
        table.confirm().map_err(start)?.map_err(|message| CommandError::Failed {
            command: format!("nft: load table inet {}", plan.nft_table()),
            message,
        })?;
        Ok(table)
    }

    fn start() -> io::Result<OwnedTable> {
        let mut command = Command::new("nft");
        command.arg("-i").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = die_with_parent(in_own_group(&mut command)).spawn()?;
        let output = child.stdout.take().expect("piped");
        let errors = child.stderr.take().expect("piped");
        set_nonblocking(output.as_fd())?;
        set_nonblocking(errors.as_fd())?;
        Ok(OwnedTable { input: child.stdin.take(), child, output, errors })
    }

    /// Waits until `nft` has listed the table, or complained.
    fn confirm(&mut self) -> io::Result<Result<(), String>> {
        let deadline = clock::now() + LOAD_PATIENCE;
        let (mut listing, mut complaint) = (Vec::new(), Vec::new());
        loop {
            let mut set = PollSet::new();
            let output = set.add_readable(self.output.as_fd());
            let errors = set.add_readable(self.errors.as_fd());
            set.wait(Some(deadline.saturating_since(clock::now())))?;
            read_available(&mut self.output, &mut listing)?;
            read_available(&mut self.errors, &mut complaint)?;
            if complaint.windows(6).any(|window| window == b"Error:") {
                return Ok(Err(one_line(&complaint)));
            }
            if listing.ends_with(b"\n}\n") {
                return Ok(Ok(()));
            }
            let ended = set.is_broken(output) && set.is_broken(errors);
            if ended || clock::now() >= deadline {
                return Ok(Err(format!("no answer; {}", one_line(&complaint))));
            }
        }
    }

    /// Readable (hung up) as soon as the holder ended, and the table with it.
    pub fn watch(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Unloads the table: nothing more is diverted.
    pub fn unload(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.input.take());
        let deadline = clock::now() + Duration::from_millis(500);
        while clock::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(std::time::Duration::from_millis(2)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for OwnedTable {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_available(from: &mut impl Read, into: &mut Vec<u8>) -> io::Result<()> {
    match from.read_to_end(into) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}
