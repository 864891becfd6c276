//! Commands shown in a document exist: verbs of `airtcp`, targets of the Makefile.

use crate::Violation;
use crate::rust::code_only;

/// The verbs that the sources of the command declare: variants of its clap `Subcommand` enums, in kebab case.
pub fn verbs<'a>(sources: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found = vec!["help".to_owned()];
    for source in sources {
        let code = code_only(source);
        for (at, _) in code.match_indices("#[derive(") {
            let Some((derived, rest)) = code[at..].split_once(']') else { continue };
            if let Some(body) = enum_body(rest).filter(|_| derived.contains("Subcommand")) {
                found.extend(variants(body).map(kebab));
            }
        }
    }
    found
}

/// The targets of a Makefile.
pub fn targets(makefile: &str) -> Vec<String> {
    let rules = makefile.lines().filter_map(|line| line.split_once(':'));
    let named = rules.filter(|(names, rest)| {
        !names.is_empty() && !names.starts_with(['\t', '.', '#', ' ']) && !names.contains('=') && !rest.starts_with('=')
    });
    named.flat_map(|(names, _)| names.split_whitespace()).map(str::to_owned).collect()
}

/// Commands in the fenced blocks of a document that start with `airtcp` or `make` and name a verb or target that is not there.
pub fn check(path: &str, text: &str, verbs: &[String], targets: &[String]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if in_fence {
            let mut words = line
                .trim_start_matches(['$', '#', ' '])
                .split_whitespace()
                .skip_while(|word| *word == "sudo" || word.contains('='));
            let (known, what) = match words.next().map(|word| word.rsplit('/').next().unwrap_or(word)) {
                Some("airtcp") => (verbs, "verb of airtcp"),
                Some("make") => (targets, "target of the Makefile"),
                _ => continue,
            };
            let name = words.find(|word| !word.starts_with('-') && (*word == "=" || !word.contains('=')));
            // `airtcp = { … }` is a line of a Cargo.toml.
            let name = name.filter(|name| *name != "=");
            if let Some(name) = name.filter(|name| !known.iter().any(|known| known == name)) {
                found.push(Violation::at(path, index + 1, format!("'{name}' is no {what}")));
            }
        }
    }
    found
}

/// What stands between the braces of the first enum, if it comes before anything else with braces.
fn enum_body(code: &str) -> Option<&str> {
    let open = code.find('{')?;
    code[..open].split_whitespace().find(|word| *word == "enum")?;
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&code[open + 1..open + at]);
        }
    }
    None
}

/// Names at depth zero that follow the start, a comma or an attribute.
fn variants(body: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let mut expect = true;
    let mut from = None;
    body.char_indices().chain([(body.len(), ',')]).filter_map(move |(at, c)| {
        let starts = from.is_none() && depth == 0 && expect && c.is_ascii_uppercase();
        let ends = !c.is_ascii_alphanumeric();
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => expect = true,
            _ => {}
        }
        if starts {
            from = Some(at);
            return None;
        }
        let start = from.filter(|_| ends)?;
        from = None;
        expect = c == ',';
        Some(&body[start..at])
    })
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "use clap::Subcommand;\n#[derive(Debug, Subcommand)]\npub enum Verb {\n    /// Run {it}, Now\n    \
        #[command(name = \"run\")]\n    Run(run::Arguments),\n    /// Show\n    ShowAll { name: String, All: u8 },\n    Doctor,\n}\n\
        fn f() { struct Other; }";

    #[test]
    fn reads_the_verbs_from_the_source() {
        assert_eq!(verbs([SOURCE].into_iter()), ["help", "run", "show-all", "doctor"]);
    }

    #[test]
    fn reads_the_targets_from_the_makefile() {
        assert_eq!(targets(".PHONY: a\nX := y\nall: a b\n\techo x: y\na b:\n"), ["all", "a", "b"]);
    }

    #[test]
    fn finds_commands_that_are_not_there() {
        let verbs = verbs([SOURCE].into_iter());
        let document = "make nothing\n```sh\n$ make -j2 all\nmake nothing\nsudo target/release/airtcp run x\nairtcp walk x\nairtcp --help\n```\n";
        let found: Vec<_> =
            check("README.md", document, &verbs, &["all".into()]).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["README.md:4: 'nothing' is no target of the Makefile", "README.md:6: 'walk' is no verb of airtcp"]
        );
    }
}
