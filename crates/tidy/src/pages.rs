//! Documents as a reader follows them: an anchor is there, README.md leads to every page, and a figure there has its source.

use crate::Violation;
use crate::links::join;
use crate::tree::TreeFile;

/// Links of Markdown files to a heading that its page does not have.
pub fn check_anchors(files: &[TreeFile]) -> Vec<Violation> {
    let pages: Vec<(&str, &str)> = documents(files).collect();
    let mut found = Vec::new();
    for (path, text) in &pages {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for (line, target) in links(text) {
            let Some((file, anchor)) = target.split_once('#') else { continue };
            let named = if file.is_empty() { (*path).to_owned() } else { join(directory, file) };
            let page = pages.iter().find(|(path, _)| *path == named);
            if page.is_some_and(|(_, text)| !headings(text).any(|heading| slug(heading) == anchor)) {
                found.push(Violation::at(path, line, format!("{named} has no heading '#{anchor}'")));
            }
        }
    }
    found
}

/// Pages of `docs/` that README.md does not lead to.
pub fn check_listed(files: &[TreeFile]) -> Vec<Violation> {
    let readme = documents(files).find(|(path, _)| *path == "README.md").map_or("", |(_, text)| text);
    let listed: Vec<&str> = links(readme).map(|(_, target)| target.split('#').next().unwrap_or(target)).collect();
    documents(files)
        .filter(|(path, _)| path.starts_with("docs/") && !listed.contains(path))
        .map(|(path, _)| Violation::of(path, "README.md does not lead here; the site has its pages from there, too"))
        .collect()
}

/// Paragraphs and list items with a measured share or ratio, but neither a page nor a command that shows it.
pub fn check_sources(path: &str, text: &str) -> Vec<Violation> {
    let fenced: String = text.split("```").step_by(2).collect();
    let items = fenced.split("\n\n").flat_map(|block| block.split("\n- "));
    let bare = items.filter(|item| {
        let shows = ["](", "`airtcp ", "`make ", "`cargo "].iter().any(|source| item.contains(source));
        has_figure(item) && !shows
    });
    bare.map(|item| {
        let begins: String = item.trim().chars().take(60).collect();
        Violation::of(path, format!("'{begins}…' has a figure, and neither the page nor the command that shows it"))
    })
    .collect()
}

fn has_figure(text: &str) -> bool {
    ["%", "×"].iter().any(|unit| {
        text.match_indices(unit).any(|(at, _)| text[..at].trim_end().ends_with(|last: char| last.is_ascii_digit()))
    })
}

fn documents(files: &[TreeFile]) -> impl Iterator<Item = (&str, &str)> {
    let markdown = files.iter().filter(|file| file.path.ends_with(".md"));
    markdown.filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
}

/// Lines outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        (!in_fence && !is_fence).then_some((index + 1, line))
    })
}

fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        let targets = line.match_indices("](").filter_map(move |(at, _)| line[at + 2..].split([')', ' ']).next());
        targets.filter(|target| !target.contains(':')).map(move |target| (number, target))
    })
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#').trim())
}

/// The anchor that forges make of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TreeFile {
        TreeFile { path: path.into(), text: Some(text.into()), bytes: 0 }
    }

    fn told(found: &[Violation]) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_an_anchor_that_its_page_does_not_have() {
        let page = file("docs/a.md", "# A `b` (c), d\n```\n# no heading\n```\n[x](#a-b-c-d) [y](#no-heading)");
        let other = file("README.md", "[z](docs/a.md#a-b-c-d)\n[w](docs/a.md#gone) [web](https://example.org/#x)");
        let found = told(&check_anchors(&[other, page]));
        assert_eq!(
            found,
            ["README.md:2: docs/a.md has no heading '#gone'", "docs/a.md:5: docs/a.md has no heading '#no-heading'"]
        );
    }

    #[test]
    fn finds_a_page_that_the_first_one_does_not_lead_to() {
        let files = [file("README.md", "[a](docs/a.md#part)"), file("docs/a.md", ""), file("docs/b.md", "")];
        assert_eq!(check_listed(&files).len(), 1);
        assert_eq!(check_listed(&files)[0].path, "docs/b.md");
    }

    #[test]
    fn finds_a_figure_without_a_source() {
        let text = "It has 99.8 % of it.\n\n- twice as much\n- 7.6 × more ([page](docs/a.md))\n- 3 × as `airtcp run x` shows\n- 2 × more\n\n```\n5 %\n```\n";
        let found = told(&check_sources("README.md", text));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("It has 99.8 %") && found[1].contains("2 × more"), "{found:?}");
    }
}
