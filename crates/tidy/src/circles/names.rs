//! The names that a source file brings in and the paths that it writes: a few tokens of Rust's grammar.

/// A name that a `use` brings in, and what it stands for.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// The name in this file: `*` for all that a module has.
    pub name: String,
    /// The path as it is written.
    pub path: Vec<String>,
}

/// What a file names.
#[derive(Debug, Default)]
pub struct Source {
    /// What its `use` items bring in.
    pub imports: Vec<Import>,
    /// The paths of two names or more outside of `use` items.
    pub paths: Vec<Vec<String>>,
}

impl Source {
    /// Reads code without comments, literals and tests.
    pub fn read(code: &str) -> Source {
        let tokens = tokens(code);
        let mut source = Source::default();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                at += 1;
                source.tree(&tokens, &mut at, &[]);
            } else if is_name(tokens[at]) && !follows_a_path(&tokens, at) {
                source.path(&tokens, &mut at);
            } else {
                at += 1;
            }
        }
        source
    }

    /// One branch of a `use`: `a::b`, `a::{…}`, `a::b as c`, `a::*`, `a::{self}`.
    fn tree(&mut self, tokens: &[&str], at: &mut usize, prefix: &[String]) {
        let mut path = prefix.to_vec();
        while let Some(&token) = tokens.get(*at) {
            *at += 1;
            match token {
                "::" => {}
                "{" => {
                    while tokens.get(*at).is_some_and(|&next| next != "}") {
                        self.tree(tokens, at, &path);
                        if tokens.get(*at) == Some(&",") {
                            *at += 1;
                        }
                    }
                    *at += 1;
                    return;
                }
                "," | "}" | ";" => {
                    *at -= 1;
                    break;
                }
                "as" => {
                    let name = tokens.get(*at).map_or("_", |name| name).to_owned();
                    *at += 1;
                    self.imports.push(Import { name, path });
                    return;
                }
                "self" if !prefix.is_empty() && path.len() == prefix.len() => {}
                name => path.push(name.to_owned()),
            }
        }
        let Some(name) = path.last().cloned() else { return };
        self.imports.push(Import { name, path });
    }

    fn path(&mut self, tokens: &[&str], at: &mut usize) {
        let mut path = vec![tokens[*at].to_owned()];
        *at += 1;
        while tokens.get(*at) == Some(&"::") && tokens.get(*at + 1).is_some_and(|next| is_name(next)) {
            path.push(tokens[*at + 1].to_owned());
            *at += 2;
        }
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

fn follows_a_path(tokens: &[&str], at: usize) -> bool {
    at > 0 && matches!(tokens[at - 1], "::" | "." | "mod" | "fn")
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::` and single marks.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let length = match word {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            word => word,
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(code: &str) -> Vec<(String, String)> {
        Source::read(code).imports.into_iter().map(|import| (import.name, import.path.join("::"))).collect()
    }

    #[test]
    fn reads_every_form_of_use() {
        let one = |name: &str, path: &str| vec![(name.to_owned(), path.to_owned())];
        assert_eq!(imports("use a::b;"), one("b", "a::b"));
        assert_eq!(imports("pub use a::b as c;"), one("c", "a::b"));
        assert_eq!(imports("pub(crate) use super::*;"), one("*", "super::*"));
        assert_eq!(imports("use a::{self};"), one("a", "a"));
        let group = imports("use crate::{a::{b, c as d}, e};");
        let names: Vec<&str> = group.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!(names, ["crate::a::b", "crate::a::c", "crate::e"]);
    }

    #[test]
    fn reads_paths_and_leaves_methods_alone() {
        let read = Source::read("fn f(x: a::B) { x.g(); crate::c::d(); e::<T>(); Self::h() }");
        assert_eq!(read.paths, [vec!["a", "B"], vec!["crate", "c", "d"], vec!["Self", "h"]]);
    }
}
