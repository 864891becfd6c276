//! `airtcp key`: makes the secret of two gateways.

use crate::{Failure, output};
use airtcp_linux::sys::entropy;
use anyhow::Context;
use clap::Args;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// File to make, for `key` in the gateway files of both routers; one that exists is left alone
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.file;
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    }
    let text = entropy::bytes::<32>()?.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    made.and_then(|mut made| writeln!(made, "{text}")).with_context(|| format!("{} is not written", file.display()))?;
    output::log(&format!("{}: a new key; copy it to the other router", file.display()));
    Ok(())
}
