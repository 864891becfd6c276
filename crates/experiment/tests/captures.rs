//! Captures of simulated runs: read back with a library, and as Wireshark reads them.

use crate::common::{DEMO, Scratch, demo_with, read, read_with, skip};
use airtcp_core::Packet;
use airtcp_experiment::capture::{self, CaptureSettings, Written};
use airtcp_experiment::results::{self, Results, RunOptions};
use airtcp_experiment::{Catalogue, Scenario, Simulator};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const WHOLE: CaptureSettings = CaptureSettings { snap_len: 65535, max_bytes: 64 << 20 };

/// One cell with loss, corruption and repairs, four seconds long; IPv6 if asked for.
fn lossy(more: &[&str]) -> Scenario {
    let text = demo_with("loss = \"0%\"", "corrupt = \"1%\"\nloss = \"0%\"");
    let sets = ["duration=4s", "warmup=1s", "runs=2", "links.air.loss=3%", "flows.bulk.controller=cubic"];
    read_with(&text, &[&sets[..], &["schemes.repair.kind=gsnoop"], more].concat(), &Catalogue::BUILT_IN).unwrap()
}

fn simulate(scenario: &Scenario) -> Results<'_> {
    results::run(scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ())
}

fn write<'a>(scenario: &'a Scenario, directory: &Path, settings: CaptureSettings) -> (Results<'a>, Written) {
    let results = simulate(scenario);
    let mut written = capture::write(&results, &[0], directory, settings).unwrap();
    let only = written.pop().unwrap();
    (results, only)
}

struct Record {
    interface: String,
    at_ns: u128,
    original_len: u32,
    data: Vec<u8>,
    comments: Vec<String>,
    flags: u32,
}

/// The interfaces and packets of a file.
fn read_back(path: &Path) -> (Vec<String>, Vec<Record>) {
    let mut reader = PcapNgReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let (mut interfaces, mut records) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(block) => {
                assert_eq!(block.linktype, DataLink::RAW);
                assert!(block.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                let name = block.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                interfaces.push(name.expect("an interface has a name"));
            }
            Block::EnhancedPacket(block) => {
                let mut record = Record {
                    interface: interfaces[block.interface_id as usize].clone(),
                    at_ns: block.timestamp.as_nanos(),
                    original_len: block.original_len,
                    data: block.data.to_vec(),
                    comments: Vec::new(),
                    flags: 0,
                };
                for option in block.options {
                    match option {
                        EnhancedPacketOption::Comment(text) => record.comments.push(text.into_owned()),
                        EnhancedPacketOption::Flags(flags) => record.flags = flags,
                        other => panic!("{other:?}"),
                    }
                }
                records.push(record);
            }
            _ => {}
        }
    }
    (interfaces, records)
}

/// Packets by what is said of them.
fn comments(records: &[Record]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for comment in records.iter().flat_map(|record| &record.comments) {
        *counts.entry(comment.as_str()).or_default() += 1;
    }
    counts
}

#[test]
fn every_packet_in_a_capture_has_correct_checksums_and_lengths() {
    for family in ["4", "6"] {
        let scratch = Scratch::new("capture-checksums");
        let scenario = lossy(&[&format!("flows.bulk.ip={family}")]);
        let (_, written) = write(&scenario, scratch.path(), WHOLE);
        let (_, records) = read_back(&written.path);
        assert_eq!(records.len() as u64, written.packets);
        let mut segments = 0;
        for record in &records {
            assert_eq!(record.data.len() as u32, record.original_len);
            let packet = Packet::parse(record.data.clone().into()).expect("an IP packet");
            assert_eq!(packet.ip().total_len, record.original_len);
            segments += u32::from(packet.tcp().is_some());
            assert!(packet.checksum_holds());
        }
        assert!(segments > 5000, "{segments} TCP segments");
    }
}

#[test]
fn a_link_end_is_an_interface_and_time_never_goes_back() {
    let scratch = Scratch::new("capture-interfaces");
    let scenario = lossy(&[]);
    let (_, written) = write(&scenario, scratch.path(), CaptureSettings::default());
    let (interfaces, records) = read_back(&written.path);
    assert_eq!(interfaces[..6], ["wire@sender", "wire@a", "air@a", "air@b", "lan@b", "lan@receiver"]);
    assert!(records.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
    let first_syn = |interface: &str, flags: u32| {
        let found = records.iter().find(|record| record.interface == interface && record.flags & 3 == flags);
        found.map(|record| record.at_ns).expect("a packet")
    };
    // 100 Mbit/s and 25 ms: the SYN leaves, is serialised and arrives.
    let (out, into) = (first_syn("wire@sender", 2), first_syn("wire@a", 1));
    assert!((25_000_000..25_010_000).contains(&(into - out)), "{out} {into}");
}

#[test]
fn comments_tell_what_was_lost_where_and_what_was_made_for_what() {
    let scratch = Scratch::new("capture-comments");
    let scenario = lossy(&[]);
    let (results, written) = write(&scenario, scratch.path(), WHOLE);
    let (_, records) = read_back(&written.path);
    let counts = comments(&records);
    let run = &results.outcomes(0).unwrap()[0];
    for drop in run.drops.iter().filter(|drop| drop.place != "control") {
        let comment = format!("dropped: {} at {}", drop.reason, drop.place);
        assert_eq!(counts.get(comment.as_str()), Some(&drop.packets), "{comment}");
    }
    let repairs = run.schemes[0].counters["repairs"];
    let out_of_a = |record: &&Record| record.interface == "air@a" && record.flags & 3 == 2;
    let is_repair = |record: &&Record| record.comments.iter().any(|comment| comment == "created: repair");
    assert_eq!(records.iter().filter(out_of_a).filter(is_repair).count() as u64, repairs);
    assert!(repairs > 10);
    assert!(counts.contains_key("created: control"), "{counts:?}");
    let damaged: Vec<_> = records.iter().filter(|record| record.flags & 1 << 24 != 0).collect();
    assert!(damaged.len() > 5 && damaged.iter().all(|record| record.comments.contains(&"corrupted by a link".into())));
}

#[test]
fn a_capture_keeps_as_much_of_a_packet_as_it_was_asked_to() {
    let scratch = Scratch::new("capture-snaplen");
    let scenario = lossy(&[]);
    let settings = CaptureSettings { snap_len: 100, ..WHOLE };
    let (_, written) = write(&scenario, scratch.path(), settings);
    let (_, records) = read_back(&written.path);
    assert!(records.iter().all(|record| record.data.len() == 100.min(record.original_len as usize)));
    assert!(records.iter().any(|record| record.original_len == 1500));
}

#[test]
fn a_capture_ends_at_its_limit_and_says_what_is_missing() {
    let scratch = Scratch::new("capture-limit");
    let scenario = lossy(&[]);
    let settings = CaptureSettings { max_bytes: 1_000_000, ..WHOLE };
    let (_, written) = write(&scenario, scratch.path(), settings);
    assert!((1_000_000..1_002_000).contains(&written.bytes), "{} bytes", written.bytes);
    let (_, all) = write(&scenario, scratch.path(), WHOLE);
    assert_eq!(written.packets + written.left_out, all.packets);
}

#[test]
fn the_same_seed_gives_the_same_capture() {
    let (one, two) = (Scratch::new("capture-one"), Scratch::new("capture-two"));
    let scenario = lossy(&[]);
    let bytes = |scratch: &Scratch| {
        let (_, written) = write(&scenario, scratch.path(), CaptureSettings::default());
        std::fs::read(written.path).unwrap()
    };
    assert!(bytes(&one) == bytes(&two));
}

#[test]
fn more_captures_than_the_bound_are_refused_with_the_cells_that_can_be_named() {
    let demo = read(DEMO, &[]).unwrap();
    assert_eq!(demo.cells.len(), 20);
    let error = capture::select(&demo, None).unwrap_err().to_string();
    assert!(error.contains("at most 16") && error.contains("  2: 0%, bbr, none"), "{error}");
    assert_eq!(capture::select(&demo, Some(&[3, 1, 3])).unwrap(), [1, 3]);
    let error = capture::select(&demo, Some(&[20])).unwrap_err().to_string();
    assert!(error.starts_with("there is no cell 20"), "{error}");
    assert_eq!(capture::file_name(&demo, 5), "05-1pct-cubic-gsnoop.pcapng");
}

/// What tshark says of a file: one line of tab-separated fields per packet, with checksums checked.
fn tshark(path: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-T", "fields"]);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Severity of an expert information: the packet cannot be what it says it is.
const EXPERT_ERROR: &str = "8388608";
/// Status of a checksum.
const BAD: &str = "0";
const GOOD: &str = "1";

#[test]
fn wireshark_finds_nothing_malformed_and_shows_the_comments() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return skip("tshark is not installed");
    }
    let fields = [
        "frame.comment",
        "_ws.malformed",
        "_ws.short",
        "_ws.expert.severity",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "frame.interface_name",
    ];
    for family in ["4", "6"] {
        let scratch = Scratch::new("capture-tshark");
        let scenario = lossy(&[&format!("flows.bulk.ip={family}")]);
        let (results, written) = write(&scenario, scratch.path(), WHOLE);
        let packets = tshark(&written.path, &fields);
        assert_eq!(packets.len() as u64, written.packets);
        for (number, packet) in (1..).zip(&packets) {
            let is_clean = packet[1].is_empty() && packet[2].is_empty() && !packet[3].contains(EXPERT_ERROR);
            assert!(is_clean && packet[4..7].iter().all(|status| status != BAD), "frame {number}: {packet:?}");
        }
        assert!(packets.iter().filter(|packet| packet[5] == GOOD && packet[7] == "air@b").count() > 1000);
        let count =
            |comment: &str| packets.iter().filter(|packet| packet[0].split(',').any(|one| one == comment)).count();
        let drops = &results.outcomes(0).unwrap()[0].drops;
        let lost = drops.iter().find(|drop| drop.place == "links.air.forward" && drop.reason == "loss");
        assert_eq!(count("dropped: loss at links.air.forward") as u64, lost.expect("3 % are lost").packets);
        assert!(count("created: repair") > 10 && count("corrupted by a link") > 5);
    }
}
