//! `make validate`: is the instrument right? Each part compares it with something else and writes its own section of
//! docs/validation.md: figures, the command, and a verdict for each line.
//!
//! `airtcp-validate [PART…]` runs only the named parts and leaves the other sections as they are.
#![forbid(unsafe_code)]

mod drills;
mod kernel;
mod laws;
mod links;
mod ns3;
mod page;
mod per_run;
mod senders;
mod statistics;
mod summary;
mod wlan;
mod wlan_aggregated;

use page::Section;
use std::process::ExitCode;

/// A part: its name, and what makes its section.
type Part = (&'static str, fn() -> anyhow::Result<Section>);

const PARTS: [Part; 15] = [
    ("links", links::section),
    ("laws", laws::section),
    ("dctcp", senders::dctcp),
    ("bbr3", senders::bbr3),
    ("ns3", ns3::lossy_link),
    ("ns3-gsnoop", ns3::gsnoop_path),
    ("wlan", wlan::saturation),
    ("wlan-tcp", wlan::uploads),
    ("wlan-aggregated", wlan_aggregated::saturation),
    ("wlan-aggregated-tcp", wlan_aggregated::tcp),
    ("wlan-psm", wlan::power_save),
    ("kernel", kernel::section),
    ("kernel-short", kernel::short_flows),
    ("kernel-start", kernel::start),
    ("drills", drills::section),
];

fn main() -> anyhow::Result<ExitCode> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.iter().any(|(part, _)| part == name)) {
        let names = PARTS.map(|(name, _)| name).join(", ");
        eprintln!("airtcp-validate: no part '{unknown}'; there are: {names}");
        return Ok(ExitCode::from(2));
    }
    let mut failed = 0;
    for (name, make) in PARTS.iter().filter(|(part, _)| wanted.is_empty() || wanted.iter().any(|name| name == part)) {
        println!("== {name}");
        let section = make()?;
        print!("{section}");
        failed += section.failed;
        page::replace(name, &section)?;
    }
    println!("{}", if failed == 0 { "valid".to_owned() } else { format!("{failed} lines do not hold") });
    Ok(ExitCode::from(u8::from(failed != 0)))
}
