//! `docs/add-a-scheme.md` shows this crate as it is.

use std::fs;
use std::path::Path;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks in `language`.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    document.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or(rest).to_owned()).collect()
}

#[test]
fn every_block_of_the_document_is_part_of_this_crate() {
    let document = text("../../docs/add-a-scheme.md");
    let rust = [
        "src/lib.rs",
        "src/main.rs",
        "src/gentle.rs",
        "src/ack_thinner.rs",
        "src/fixed_window.rs",
        "src/half_rate.rs",
        "tests/ack_thinner.rs",
    ]
    .map(text)
    .join("\n");
    let toml = ["Cargo.toml", "own.toml", "own-socket.toml", "own-gateway.toml"].map(text).join("\n");
    for (language, source, least) in [("rust", rust, 7), ("toml", toml, 2)] {
        let blocks = blocks(&document, language);
        assert!(blocks.len() >= least, "{} blocks of {language}", blocks.len());
        for block in blocks {
            assert!(source.contains(&block), "not in the sources as shown:\n{block}");
        }
    }
}
