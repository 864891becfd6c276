//! GsnoopSettings of G-Snoop at the ends of their ranges: refused with a sentence, or harmless.

use airtcp_core::{ByteSize, Element, Rng};
use airtcp_schemes::papers::gsnoop;
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, Site};

fn gateway(settings: &[(&str, &str)], max_memory: ByteSize) -> Result<Box<dyn Element + Send>, String> {
    let chosen = gsnoop::ENTRY.with(settings.iter().copied()).map_err(|error| error.to_string())?;
    let mut rng = Rng::derive(1, "gateway");
    let mut site = Site { end: End::Near, link: LinkFacts::default(), rng: &mut rng, max_memory, forecast: None };
    chosen.settings.make(&mut site).map_err(|error| error.to_string())
}

#[test]
fn little_memory_makes_small_tables_and_no_panic() {
    for bytes in [0, 1, 10_000, 100_000, 1_000_000] {
        assert!(gateway(&[], ByteSize(bytes)).is_ok(), "{bytes}");
    }
}

#[test]
fn hellos_without_a_distance_are_refused() {
    let error = gateway(&[("hello", "0s")], MAX_MEMORY).err().unwrap();
    assert!(error.contains("hello") && error.contains("1ms or more"), "{error}");
    assert!(gateway(&[("hello", "1ms")], MAX_MEMORY).is_ok());
}

#[test]
fn a_rate_of_zero_is_refused() {
    let error = gateway(&[("rate", "0bit")], MAX_MEMORY).err().unwrap();
    assert!(error.contains("rate") && error.contains("auto"), "{error}");
}

#[test]
fn a_gateway_that_never_asks_is_refused() {
    let error = gateway(&[("tries", "0")], MAX_MEMORY).err().unwrap();
    assert!(error.contains("tries") && error.contains("1 or more"), "{error}");
    assert!(gateway(&[("tries", "1")], MAX_MEMORY).is_ok());
}

#[test]
fn the_longest_buffer_of_the_paper_mode_overflows_nothing() {
    let longest = u32::MAX.to_string();
    let settings =
        [("mode", "paper"), ("repair_place", "tail"), ("buffer_packets", longest.as_str()), ("rate", "1bit")];
    assert!(gateway(&settings, MAX_MEMORY).is_ok());
}
