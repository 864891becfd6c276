//! `airtcp show`: everything a file can say, from the same tables that read it.

use super::topic::{Key, Section, Topic, plain_keys};
use super::{data, papers};
use crate::{Failure, forward_file, gateway_file, output};
use airtcp_core::parameters::{Field, Parameters, nearest};
use airtcp_experiment::catalogue::KERNEL_ONLY;
use airtcp_experiment::scenario::workload::{Sizes, TABLES};
use airtcp_experiment::scenario::{BUILT_IN, FLOW_KEYS, PROBE_KEYS, TOP_LEVEL, WLAN_KEYS, WORKLOAD_KEYS};
use airtcp_experiment::{Catalogue, metric, table::Style};
use airtcp_link::LinkSettings;
use airtcp_schemes::socket::SocketEntry;
use airtcp_schemes::{Placement, SchemeEntry};
use airtcp_sim::dot11::CellSettings;
use airtcp_tcp::congestion::ControllerEntry;
use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use std::fmt::Write;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A topic, for example gateway, forward or a scheme; a list of all topics if left out
    name: Option<String>,
    /// Print a commented file or table to start from
    #[arg(long, requires = "name")]
    example: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "example")]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let topics = topics(catalogue, arguments.name.as_deref());
    if arguments.name.is_some() {
        return show(arguments, &topics);
    }
    let text = if arguments.json { overview_json(&topics, catalogue) } else { overview(catalogue) };
    output::print(text.trim_end());
    Ok(())
}

/// As [`run`], of what a router's files can say.
pub(crate) fn run_on_router(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let files = vec![gateway(), forward(), sockets(catalogue.sockets)];
    let schemes: Vec<Topic> = catalogue.schemes.iter().map(scheme).collect();
    let all = [schemes.clone(), files.clone()].concat();
    if arguments.name.is_some() {
        return show(arguments, &all);
    }
    let text = match arguments.json {
        true => format!("{:#}", json!({"schema": "airtcp.show/1", "topics": all})),
        false => listed("schemes", &schemes) + &listed("files", &files) + HOW_ON,
    };
    output::print(text.trim_end());
    Ok(())
}

/// Shows the topic that is named.
fn show(arguments: &Arguments, topics: &[Topic]) -> Result<(), Failure> {
    let name = arguments.name.as_deref().unwrap_or_default();
    let topic = topics.iter().find(|topic| topic.name == name).ok_or_else(|| {
        let names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
        let hint = nearest(name, &names)
            .map_or_else(|| format!("there are: {}", names.join(", ")), |near| format!("did you mean '{near}'?"));
        Failure::input(anyhow!("there is no topic '{name}'; {hint}"))
    })?;
    let text = match (arguments.example, arguments.json) {
        (true, _) => topic.example.clone(),
        (_, true) => format!("{:#}", json!(topic)),
        _ => page(topic, output::style()),
    };
    output::print(text.trim_end());
    Ok(())
}

fn topics(catalogue: &Catalogue<'_>, wanted: Option<&str>) -> Vec<Topic> {
    let mut topics: Vec<Topic> = catalogue.schemes.iter().map(scheme).collect();
    for entry in catalogue.controllers {
        topics.push(controller(entry));
    }
    for name in KERNEL_ONLY.iter().filter(|name| catalogue.controller(name).is_none()) {
        let example = format!("[flows.bulk]\nfrom = \"sender\"\nto = \"receiver\"\ncontroller = \"{name}\"\n");
        topics.push(simple(name, "Linux's own; live runs only.", vec!["Congestion controller.".into()], example));
    }
    papers::add_pages(&mut topics, catalogue, wanted);
    topics.extend([link(), wlan(), flow(), workload(), probe(), scenario(), gateway(), forward()]);
    let schemes: Vec<String> = std::iter::once("none: the link without a scheme".to_owned())
        .chain(catalogue.schemes.iter().map(|entry| format!("{}: {}", entry.slug, entry.about)))
        .collect();
    let example = catalogue.schemes.first().map(scheme_example).unwrap_or_default();
    topics.push(simple("schemes", "The values of `kind` in [schemes.<name>].", schemes, example));
    let controllers = catalogue.controller_names();
    topics.push(simple(
        "controllers",
        "The congestion controllers that a flow can use.",
        controllers,
        "controller = \"cubic\"\n".into(),
    ));
    topics.push(sockets(catalogue.sockets));
    topics.push(metrics(catalogue));
    topics.push(data::topic());
    topics
}

fn simple(name: &str, about: &str, notes: Vec<String>, example: String) -> Topic {
    Topic { name: name.into(), about: about.into(), notes, sections: Vec::new(), example }
}

fn scheme(entry: &SchemeEntry) -> Topic {
    let boxes = match entry.placement {
        Placement::BothEnds => {
            "Runs on two gateways, one at each end of the link, or of the path from one node to another: `from` and `to` in place of `on`."
        }
        Placement::NearEnd => "Runs on one gateway, at the node that the link's `between` names first.",
        Placement::Path => "Runs on two nodes, those that `from` and `to` name, or on two gateways.",
    };
    let semantics = if entry.keeps_end_to_end {
        "Keeps end-to-end semantics."
    } else {
        "Does not keep end-to-end semantics: it acknowledges data that the receiver may not have."
    };
    let parameters = Section {
        title: format!("parameters, in [schemes.<name>] and in a gateway file's [{}]", entry.slug),
        keys: keys(entry.fields()),
    };
    Topic {
        name: entry.slug.into(),
        about: entry.about.into(),
        notes: vec![boxes.into(), semantics.into(), format!("Source: {}.", entry.source)],
        sections: vec![parameters],
        example: scheme_example(entry),
    }
}

fn controller(entry: &ControllerEntry) -> Topic {
    let fields = entry.fields();
    let mut example = format!("[flows.bulk]\nfrom = \"sender\"\nto = \"receiver\"\ncontroller = \"{}\"\n", entry.slug);
    let mut sections = Vec::new();
    if !fields.is_empty() {
        example += &format!("\n[flows.bulk.controller_options]\n{}", commented(fields.clone()));
        sections.push(Section { title: "parameters, in [flows.<name>.controller_options]".into(), keys: keys(fields) });
    }
    let notes = vec![format!("Congestion controller. Source: {}.", entry.source)];
    Topic { name: entry.slug.into(), about: entry.about.into(), notes, sections, example }
}

fn scheme_example(entry: &SchemeEntry) -> String {
    let (name, place) = match entry.placement {
        Placement::Path => ("trunk", "from = \"a\"\nto = \"b\""),
        Placement::BothEnds | Placement::NearEnd => ("repair", "on = \"air\""),
    };
    format!("[schemes.{name}]\nkind = \"{}\"\n{place}\n{}", entry.slug, commented(entry.fields()))
}

fn link() -> Topic {
    let mut sections = vec![Section {
        title: "in [links.<name>], besides between = [\"a\", \"b\"], and in [links.<name>.reverse]".into(),
        keys: keys(LinkSettings::default().fields()),
    }];
    for (key, kinds) in LinkSettings::TABLES {
        for kind in *kinds {
            let title = if kind.name.is_empty() {
                format!("{key} = {{ … }}: {}", kind.about)
            } else {
                format!("{key} = {{ kind = \"{}\", … }}: {}", kind.name, kind.about)
            };
            sections.push(Section { title, keys: keys((kind.fields)()) });
        }
    }
    Topic {
        name: "link".into(),
        about: "A link between two nodes; both directions alike unless [links.<name>.reverse] overrides a key.".into(),
        notes: Vec::new(),
        sections,
        example: format!("[links.air]\nbetween = [\"a\", \"b\"]\n{}", commented(LinkSettings::default().fields())),
    }
}

fn wlan() -> Topic {
    let own = Section { title: "in [wlans.<name>]".into(), keys: plain_keys(WLAN_KEYS) };
    let fields = CellSettings::default().fields();
    let example = format!("[wlans.wifi]\nap = \"ap\"\nstations = [\"sta\"]\n{}", commented(fields.clone()));
    Topic {
        name: "wlan".into(),
        about: "An 802.11 cell: stations that share one medium with their access point (DCF).".into(),
        notes: vec!["In the simulator only: live runs cannot emulate contention.".into()],
        sections: vec![own, Section { title: "settings".into(), keys: keys(fields) }],
        example,
    }
}

fn workload() -> Topic {
    let mut notes = vec![
        "Requests begin when they are due, each over a TCP connection of its own: the client asks, the server answers and closes.".into(),
        "The keys of both endpoints' TCP are those of a flow (airtcp show flow).".into(),
    ];
    for table in TABLES {
        let line = |(bytes, millionths): &(u64, u64)| format!("{bytes} {}", *millionths as f64 / 1e6);
        let lines: Vec<String> = table.lines.iter().map(line).collect();
        let mean = Sizes::of_table(table).mean_millionths().div_ceil(1_000_000);
        notes.push(format!("{}, mean {mean} bytes; bytes and share no larger: {}.", table.name, lines.join(", ")));
    }
    Topic {
        name: "workload".into(),
        about: "Web-like requests from a client to a server: Poisson arrivals at a load, sizes from a table.".into(),
        notes,
        sections: vec![Section { title: "in [workloads.<name>]".into(), keys: plain_keys(WORKLOAD_KEYS) }],
        example: "[workloads.web]\nfrom = \"server\"\nto = \"client\"\nload = \"84Mbit\"\nsizes = \"caida\"\n".into(),
    }
}

fn probe() -> Topic {
    Topic {
        name: "probe".into(),
        about: "Small datagrams from one host to another and back, beside the flows, as a ping sends them.".into(),
        notes: Vec::new(),
        sections: vec![Section { title: "in [probes.<name>]".into(), keys: plain_keys(PROBE_KEYS) }],
        example: "[probes.ping]\nfrom = \"sender\"\nto = \"receiver\"\nevery = \"20ms\"\n".into(),
    }
}

fn flow() -> Topic {
    let fields: Vec<Field> = airtcp_tcp::Config::default()
        .fields()
        .into_iter()
        .filter(|field| FLOW_KEYS.iter().all(|(key, ..)| *key != field.name))
        .collect();
    let own = Section { title: "in [flows.<name>]".into(), keys: plain_keys(FLOW_KEYS) };
    let example = format!(
        "[flows.bulk]\nfrom = \"sender\"\nto = \"receiver\"\ncontroller = \"cubic\"\n{}",
        commented(fields.clone())
    );
    let endpoints = Section { title: "of both endpoints, in the simulator".into(), keys: keys(fields) };
    Topic {
        name: "flow".into(),
        about: "A transfer from one node to another: by TCP, or by what `airtcp show sockets` lists.".into(),
        notes: vec!["A live run uses the kernel's TCP and the kernel's settings.".into()],
        sections: vec![own, endpoints],
        example,
    }
}

fn sockets(entries: &[SocketEntry]) -> Topic {
    let mut sections = Vec::new();
    for entry in entries {
        let title = format!("in [flows.<name>.socket_options] of socket = \"{}\"", entry.slug);
        sections.push(Section { title, keys: keys(entry.fields()) });
        let counters: Vec<_> = entry.counters.iter().map(|counter| (counter.label(), "", counter.about())).collect();
        let title = format!("counted by \"{}\", in tables and claims control.<name>", entry.slug);
        sections.push(Section { title, keys: plain_keys(&counters) });
    }
    sections.retain(|section| !section.keys.is_empty());
    Topic {
        name: "sockets".into(),
        about: "What carries a flow. Live runs have tcp, datagram, quic and wireguard; the simulator has all but the last two.".into(),
        notes: entries.iter().map(|socket| format!("{}: {}", socket.slug, socket.about)).collect(),
        sections,
        example: "[flows.bulk]\nfrom = \"sender\"\nto = \"receiver\"\nsocket = \"datagram\"\nsocket_options = { every = \"20ms\", packet = 200, data_dscp = 46 }\n".into(),
    }
}

/// Every metric; below, the members of families that do not depend on the scenario.
fn metrics(catalogue: &Catalogue<'_>) -> Topic {
    let keys = metric::all().map(|metric| Key {
        name: metric.name.into(),
        kind: metric.unit.label().into(),
        about: match metric.unit.label() {
            "" => metric.about.into(),
            unit => format!("{} ({unit})", metric.about),
        },
        ..Key::default()
    });
    let names = metric::Names { catalogue, flows: &[], probes: &[], workloads: &[] };
    let families = metric::all().filter(|metric| metric.is_family());
    let families = families.map(|metric| (metric.name, metric.members.in_file(&names)));
    let notes = families.filter(|(_, members)| !members.is_empty());
    Topic {
        name: "metrics".into(),
        about: "What a table can show, a figure can draw and a claim can judge.".into(),
        notes: notes.map(|(name, members)| format!("{name}: {}.", members.join(", "))).collect(),
        sections: vec![Section {
            title: "metrics, and the units in which tables show them".into(),
            keys: keys.collect(),
        }],
        example: "show = [\"goodput_bps\", \"of_ceiling\"]\n".into(),
    }
}

fn scenario() -> Topic {
    Topic {
        name: "scenario".into(),
        about: "A scenario file: a network, its traffic, the keys that vary, and the results to show.".into(),
        notes: Vec::new(),
        sections: vec![Section { title: "at the top level".into(), keys: plain_keys(TOP_LEVEL) }],
        example: BUILT_IN[0].1.into(),
    }
}

fn gateway() -> Topic {
    let mut example = String::from("# The whole file of one gateway; the other's differs in `peer` only.\n");
    for (key, value, about) in gateway_file::KEYS {
        let mark = if about.contains("required") { "" } else { "# " };
        let _ = writeln!(example, "{:<40}# {about}", format!("{mark}{key} = {value}"));
    }
    example.push_str("\n# A hub has a table for each peer in place of `peer`, `key` and `hops`:\n# [[peer]]\n");
    for (key, value, about) in gateway_file::PEER_KEYS {
        let _ = writeln!(example, "{:<40}# {about}", format!("# {key} = {value}"));
    }
    example.push_str("\n# [gsnoop]                              # the scheme's own parameters (airtcp show gsnoop)\n");
    Topic {
        name: "gateway".into(),
        about: "A gateway file: one scheme on one interface of this router.".into(),
        notes: vec!["The scheme's own parameters are in a table with the name of the scheme.".into()],
        sections: vec![
            Section { title: "at the top level".into(), keys: plain_keys(gateway_file::KEYS) },
            Section {
                title: "in [[peer]], of each of several peers".into(),
                keys: plain_keys(gateway_file::PEER_KEYS),
            },
        ],
        example,
    }
}

fn forward() -> Topic {
    let lines = |keys: &[(&str, &str, &str)]| {
        let line = |(key, value, about): &(&str, &str, &str)| {
            let mark = if about.contains("required") || *key == "allow" { "" } else { "# " };
            format!("{:<40}# {about}\n", format!("{mark}{key} = {value}"))
        };
        keys.iter().map(line).collect::<String>()
    };
    let example = format!(
        "# The file of one forwarder; the other's has the other's address in `peer`.\n{}\n\
         # What is taken here; several tables are possible, and none where all is taken at the other end.\n\
         [[forward]]\n{}\n# Datagrams, of which nothing is sent again; one way, so an answer needs a table of the other end.\n# [[stream]]\n{}\n\
         # [decoupling]                          # the socket's parameters (airtcp show sockets)\n\
         # [streaming]                           # those of a stream's circuit, all but the first four of `streaming` there\n",
        lines(forward_file::KEYS),
        lines(forward_file::FORWARD_KEYS),
        lines(forward_file::STREAM_KEYS).lines().map(|line| format!("# {line}\n")).collect::<String>(),
    );
    Topic {
        name: "forward".into(),
        about: "A forwarder's file: which TCP connections and streams of datagrams it takes, and what its peer may open here.".into(),
        notes: vec![
            "The parameters of the decoupling socket are in a table [decoupling], those of a stream's circuit in [streaming].".into(),
        ],
        sections: vec![
            Section { title: "at the top level".into(), keys: plain_keys(forward_file::KEYS) },
            Section { title: "in [[forward]]".into(), keys: plain_keys(forward_file::FORWARD_KEYS) },
            Section { title: "in [[stream]]".into(), keys: plain_keys(forward_file::STREAM_KEYS) },
        ],
        example,
    }
}

fn keys(fields: Vec<Field>) -> Vec<Key> {
    let key = |field: Field| Key {
        name: field.name.into(),
        value: field.value,
        kind: field.kind.into(),
        about: field.about.into(),
        source: field.source.into(),
    };
    fields.into_iter().map(key).collect()
}

/// Every parameter at its default, commented out.
fn commented(fields: Vec<Field>) -> String {
    let mut text = String::new();
    for field in fields {
        let is_bare = field.value.starts_with('{')
            || field.value.parse::<u64>().is_ok()
            || ["true", "false"].contains(&field.value.as_str());
        let value = if is_bare { field.value } else { format!("\"{}\"", field.value) };
        let _ = writeln!(text, "\n# {} ({}; {})\n# {} = {value}", field.about, field.kind, field.source, field.name);
    }
    text
}

fn page(topic: &Topic, style: Style) -> String {
    let mut text = format!("{}\n{}\n", style.bold(&topic.name), output::hang("  ", 2, &topic.about));
    for note in &topic.notes {
        let _ = writeln!(text, "{}", output::hang("  ", 2, note));
    }
    for section in &topic.sections {
        let _ = writeln!(text, "\n{}", style.bold(&output::hang("", 0, &section.title)));
        let width = section.keys.iter().map(|key| key.name.chars().count()).max().unwrap_or(0);
        for key in &section.keys {
            let name = format!("  {:width$}  ", key.name);
            let _ = writeln!(text, "{}", output::hang(&name, width + 4, &key.about));
            if key.value.is_empty() {
                continue;
            }
            let source = if key.source.is_empty() { String::new() } else { format!("  [{}]", key.source) };
            let kind = if key.kind.is_empty() { String::new() } else { format!("  ({})", key.kind) };
            let word = if key.kind.is_empty() { "example" } else { "default" };
            let blank = " ".repeat(width + 4);
            let line = output::hang(&blank, width + 4, &format!("{word} {}{kind}{source}", key.value));
            let _ = writeln!(text, "{blank}{}", style.dim(line.trim_start()));
        }
    }
    text
}

/// How to see one topic.
const HOW_ON: &str = "airtcp show NAME lists keys, defaults and sources; --example prints a file to start from\n";

/// A title, and a line for each topic.
fn listed(title: &str, topics: &[Topic]) -> String {
    let mut text = format!("{}\n", output::style().bold(title));
    let width = topics.iter().map(|topic| topic.name.chars().count()).max().unwrap_or(0);
    for topic in topics {
        let _ = writeln!(text, "{}", output::hang(&format!("  {:width$}  ", topic.name), width + 4, &topic.about));
    }
    text.push('\n');
    text
}

fn overview(catalogue: &Catalogue<'_>) -> String {
    let named = |name: &str, about: &str| simple(name, about, Vec::new(), String::new());
    let schemes: Vec<Topic> = catalogue.schemes.iter().map(|entry| named(entry.slug, entry.about)).collect();
    let kernel = KERNEL_ONLY.iter().filter(|name| catalogue.controller(name).is_none());
    let kernel = kernel.map(|name| named(name, "Linux's own; live runs only."));
    let ours = catalogue.controllers.iter().map(|entry| named(entry.slug, entry.about));
    let controllers: Vec<Topic> = ours.chain(kernel).collect();
    let papers = papers::all(catalogue);
    let papers: Vec<Topic> = papers.iter().map(|(slug, paper)| named(slug, &papers::summary(paper))).collect();
    let scenarios: Vec<Topic> = BUILT_IN.iter().map(|(name, text)| named(name, &about_of(text))).collect();
    let files = vec![link(), flow(), scenario(), gateway(), forward()];
    let sections = [
        ("schemes", schemes),
        ("controllers", controllers),
        ("papers", papers),
        ("scenarios", scenarios),
        ("files", files),
    ];
    sections.map(|(title, topics)| listed(title, &topics)).concat() + HOW_ON
}

fn about_of(scenario: &str) -> String {
    let line = scenario.lines().find_map(|line| line.strip_prefix("about = "));
    line.unwrap_or_default().trim_matches('"').to_owned()
}

fn overview_json(topics: &[Topic], catalogue: &Catalogue<'_>) -> String {
    let scenarios: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let value = json!({
        "schema": "airtcp.show/1",
        "schemes": catalogue.schemes.iter().map(|entry| entry.slug).collect::<Vec<_>>(),
        "controllers": catalogue.controller_names(),
        "scenarios": scenarios,
        "papers": papers::all(catalogue).iter().map(|(slug, _)| *slug).collect::<Vec<_>>(),
        "topics": topics,
    });
    format!("{value:#}")
}
