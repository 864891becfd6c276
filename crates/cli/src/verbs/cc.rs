//! `airtcp cc`: congestion controllers of ours in the kernel, for any program on this machine.

use crate::{Failure, output};
use airtcp_linux::bpf::pinned::Loaded;
use airtcp_linux::bpf::{self, BpfError, pinned};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Load a controller; it stays loaded until you unload it or the machine restarts
    #[command(
        after_help = "Use it by socket (TCP_CONGESTION, iperf3 -C NAME), by route (ip route add … congctl NAME), or \
        for all sockets of a namespace (sysctl -w net.ipv4.tcp_congestion_control=NAME)."
    )]
    Load {
        /// Name of the controller (airtcp cc list shows all)
        name: String,
        /// Set one of its parameters, KEY=VALUE (airtcp show NAME lists them); may be given several times
        #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
        sets: Vec<(String, String)>,
    },
    /// Unload a controller; connections that use it keep it
    Unload {
        /// Name of the controller
        name: String,
    },
    /// List the loaded controllers with their options and counters, and those that can be loaded
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, lda=original")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.action {
        Action::Load { name, sets } => {
            let program = bpf::program(name).map_err(Failure::input)?;
            pinned::load(program, name, sets).map_err(|error| match error {
                BpfError::Settings(_) => Failure::input(error),
                error => error.into(),
            })?;
            output::print(&format!("'{name}' is loaded; sockets can choose it now"));
        }
        Action::Unload { name } => {
            pinned::unload(name).map_err(|error| match error {
                BpfError::NoName(_) => Failure::input(error),
                error => error.into(),
            })?;
            output::print(&format!("'{name}' is unloaded; connections that use it keep it"));
        }
        Action::List { json } => {
            let loaded = pinned::list()?;
            output::print(&if *json { as_json(&loaded) } else { as_text(&loaded) });
        }
    }
    Ok(())
}

/// Names of controllers that are not loaded.
fn others(loaded: &[Loaded]) -> Vec<&'static str> {
    let is_loaded = |slug: &str| loaded.iter().any(|loaded| loaded.name == slug);
    bpf::PROGRAMS.iter().map(|program| program.slug).filter(|slug| !is_loaded(slug)).collect()
}

fn as_json(loaded: &[Loaded]) -> String {
    let row = |loaded: &Loaded| {
        let counters: Map<String, Value> =
            loaded.counters.iter().map(|(name, count)| ((*name).to_owned(), (*count).into())).collect();
        let options: Map<String, Value> =
            loaded.options.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        json!({"name": loaded.name, "options": options, "counters": counters})
    };
    let loaded_rows: Vec<Value> = loaded.iter().map(row).collect();
    format!("{:#}", json!({"schema": "airtcp.cc/1", "loaded": loaded_rows, "not_loaded": others(loaded)}))
}

fn as_text(loaded: &[Loaded]) -> String {
    let style = output::style();
    let mut lines = Vec::new();
    for loaded in loaded {
        lines.push(style.bold(&loaded.name));
        lines.extend(loaded.options.iter().map(|(key, value)| format!("  {key} = {value}")));
        let width = loaded.counters.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        lines.extend(loaded.counters.iter().map(|(name, count)| format!("  {name:width$}  {count}")));
    }
    lines.extend(others(loaded).iter().map(|slug| format!("{slug} is not loaded (airtcp cc load {slug})")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_keys_and_values() {
        assert_eq!(setting("lda=original"), Ok(("lda".to_owned(), "original".to_owned())));
        assert!(setting("lda").is_err());
    }

    #[test]
    fn the_list_has_every_counter_as_text_and_as_json() {
        let loaded = [Loaded {
            name: "newzag".into(),
            program: Some("newzag"),
            options: vec![("lda".into(), "original".into())],
            counters: vec![("loss_events", 7), ("random", 3)],
        }];
        let json: Value = serde_json::from_str(&as_json(&loaded)).unwrap();
        assert_eq!(
            json["loaded"][0],
            json!({"name": "newzag", "options": {"lda": "original"}, "counters": {"loss_events": 7, "random": 3}})
        );
        assert_eq!(json["not_loaded"], json!([]));
        assert!(as_text(&loaded).contains("lda = original"));
        assert!(as_text(&loaded).contains("loss_events  7") && as_text(&[]).contains("airtcp cc load newzag"));
    }
}
