//! Drill scripts on both stacks (docs/drills.md).

use crate::page::{Section, root};
use airtcp_drill::{Kernel, Ours, Script, play};
use anyhow::Context;

/// A script that the kernel plays too late on a busy machine is played again.
const ATTEMPTS: usize = 4;

/// A row for each script that is not the same on both.
pub fn section() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "Drills",
        about: "Scripts in packetdrill's notation, from RFC text, on our TCP (exact times) and on the Linux kernel \
            (5 ms early to 20 ms and an eighth of the wait late). [drills.md](drills.md) lists the notation and what the scripts avoid."
            .to_owned(),
        columns: vec!["script", "our TCP", "Linux", ""],
        ..Section::default()
    };
    let can_run = airtcp_linux_available();
    let directory = root().join("crates/drill/scripts");
    let mut paths: Vec<_> =
        std::fs::read_dir(&directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in &paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path)?;
        let script = Script::parse(&text).with_context(|| name.clone())?;
        let ours = play(&script, &mut Ours::new(&script)).err();
        let mut kernel = None;
        if can_run.is_ok() {
            for _ in 0..ATTEMPTS {
                kernel = play(&script, &mut Kernel::new(&script)?).err();
                if kernel.is_none() {
                    break;
                }
            }
        }
        let text = |difference: &Option<airtcp_drill::Difference>| match difference {
            Some(difference) => difference.to_string(),
            None => "as written".to_owned(),
        };
        let linux = if can_run.is_ok() { text(&kernel) } else { "not run".to_owned() };
        let holds = ours.is_none() && kernel.is_none() && can_run.is_ok();
        section.row(vec![name, text(&ours), linux], holds);
    }
    section.notes.push(format!("{} scripts, {} equal on both.", paths.len(), paths.len() - section.failed));
    if let Err(reason) = can_run {
        section.notes.push(format!("The kernel was not asked: {reason}"));
    }
    Ok(section)
}

fn airtcp_linux_available() -> Result<(), String> {
    Kernel::check_available().map_err(|error| error.to_string())
}
