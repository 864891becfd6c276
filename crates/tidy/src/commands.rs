//! Commands shown in a document exist: verbs of `airtcp`, targets of the Makefile.

use crate::Violation;
use heck::ToKebabCase;
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Path, Token};

/// The verbs that the sources of the command declare: variants of its clap `Subcommand` enums, in kebab case.
pub fn verbs<'a>(sources: impl Iterator<Item = &'a str>) -> Vec<String> {
    let items = sources.filter_map(|source| syn::parse_file(source).ok()).flat_map(|file| file.items);
    let variants = items.flat_map(|item| match item {
        Item::Enum(item) if item.attrs.iter().any(derives_subcommand) => item.variants.into_iter().collect(),
        _ => Vec::new(),
    });
    std::iter::once("help".to_owned())
        .chain(variants.map(|variant| variant.ident.to_string().to_kebab_case()))
        .collect()
}

fn derives_subcommand(attribute: &Attribute) -> bool {
    let names = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    attribute.path().is_ident("derive") && names.is_ok_and(|names| names.iter().any(|name| name.is_ident("Subcommand")))
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
