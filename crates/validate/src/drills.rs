//! Drill scripts on both stacks (docs/drills.md).

use crate::page::Section;
use airtcp_drill::{Difference, Kernel, Ours, collection, play};

/// A row for each script.
pub fn section() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "Drills",
        about: "Scripts in packetdrill's notation, from RFC text, on our TCP (exact times) and on the Linux kernel \
            (5 ms early to 20 ms and an eighth of the wait late). [drills.md](drills.md) lists the notation and what the scripts avoid."
            .to_owned(),
        columns: vec!["script", "our TCP", "Linux", ""],
        ..Section::default()
    };
    let available = Kernel::check_available();
    let scripts = collection::read(&collection::kept())?;
    for (path, script) in &scripts {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let ours = play(script, &mut Ours::new(script)).err();
        let kernel = if available.is_ok() { collection::play_on_kernel(script)? } else { None };
        let text = |difference: &Option<Difference>| {
            difference.as_ref().map_or("as written".to_owned(), Difference::to_string)
        };
        let linux = if available.is_ok() { text(&kernel) } else { "not run".to_owned() };
        let holds = ours.is_none() && kernel.is_none() && available.is_ok();
        section.row(vec![name, text(&ours), linux], holds);
    }
    section.notes.push(format!("{} scripts, {} equal on both.", scripts.len(), scripts.len() - section.failed));
    if let Err(reason) = available {
        section.notes.push(format!("The kernel was not asked: {reason}"));
    }
    Ok(section)
}
