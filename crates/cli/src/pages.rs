//! `airtcp-pages DIRECTORY`: writes manual pages and completions of both commands into `man`, `bash`, `zsh` and `fish` there.
#![forbid(unsafe_code)]

use clap::Command;
use clap_complete::{Shell, generate_to};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: airtcp-pages DIRECTORY");
        return ExitCode::from(2);
    };
    match airtcp::commands().into_iter().try_for_each(|command| write(&directory, command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &Path, mut command: Command) -> io::Result<()> {
    command.build();
    let name = command.get_name().to_owned();
    for (shell, folder) in [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")] {
        let folder = directory.join(folder);
        fs::create_dir_all(&folder)?;
        generate_to(shell, &mut command, &name, folder)?;
    }
    let folder = directory.join("man");
    fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(command, folder)
}
