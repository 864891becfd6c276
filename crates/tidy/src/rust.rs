//! Just enough Rust: which bytes of a source file are code, and which of those are test code.

use proc_macro2::{Span, TokenStream, TokenTree};

/// The source with comments, strings and character literals replaced by spaces; line numbers stay. Nothing is left of
/// what is no Rust.
pub fn code_only(source: &str) -> String {
    let mut out: Vec<u8> = source.bytes().map(|byte| if byte == b'\n' { byte } else { b' ' }).collect();
    keep(source.parse().unwrap_or_default(), source, &mut out);
    proc_macro2::extra::invalidate_current_thread_spans();
    String::from_utf8(out).expect("whole tokens")
}

/// Copies the tokens that are neither text nor part of a comment from `source` to their places in `out`.
fn keep(tokens: TokenStream, source: &str, out: &mut [u8]) {
    let mut copy = |span: Span| out[span.byte_range()].copy_from_slice(&source.as_bytes()[span.byte_range()]);
    let mut below = Vec::new();
    for token in tokens {
        match token {
            // What a doc comment stands for has the place of the comment.
            token if source[token.span().byte_range()].starts_with('/') && token.to_string() != "/" => {}
            TokenTree::Group(group) => {
                copy(group.span_open());
                copy(group.span_close());
                below.push(group.stream());
            }
            TokenTree::Literal(literal) if !literal.to_string().starts_with(|c: char| c.is_ascii_digit()) => {}
            token => copy(token.span()),
        }
    }
    below.into_iter().for_each(|tokens| keep(tokens, source, out));
}

/// Whether a file holds nothing but tests: it stands in a folder `tests`, or is called `tests`, `testing` or `…_tests`.
pub fn is_test_file(path: &str) -> bool {
    let parts = || path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    parts().any(|part| part == "tests" || part == "testing" || part.ends_with("_tests"))
}

/// The code with every `#[cfg(test)]` item blanked; takes what [`code_only`] returns.
pub fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for span in test_spans(code) {
        for byte in &mut out[span] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(out).expect("whole items were replaced, by ASCII")
}

/// Where the `#[cfg(test)]` items are; takes what [`code_only`] returns.
pub fn test_spans(code: &str) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        from = item_end(code.as_bytes(), start + "#[cfg(test)]".len());
        spans.push(start..from);
    }
    spans
}

/// Words and numbers of the code with their line, from 1. A number keeps its fraction: `1.5` is one word, `x.0.1` is not.
pub fn words(code: &str) -> Vec<(usize, &str)> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let (mut line, mut at) = (1, 0);
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            line += 1;
        }
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        let is_number = bytes[start].is_ascii_digit() && (start == 0 || bytes[start - 1] != b'.');
        if is_number && at + 1 < bytes.len() && bytes[at] == b'.' && bytes[at + 1].is_ascii_digit() {
            at += 1;
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
        }
        found.push((line, &code[start..at]));
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Where the item ends that starts at `at`, possibly with more attributes: its `;` or its closing brace.
fn item_end(code: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    for (offset, &byte) in code[at..].iter().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return at + offset + 1;
                }
            }
            b';' if depth == 0 => return at + offset + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(source: &str) -> Vec<String> {
        words(&code_only(source)).into_iter().map(|(_, word)| word.to_owned()).collect()
    }

    #[test]
    fn leaves_out_comments_strings_and_characters() {
        let source =
            "a // b\n/* c /* d */ e */ f \"g \\\" h\" i r#\"j \" k\"# l 'm' 'n' '\\'' '\\u{1F}' b\"o\" br\"p\" q";
        assert_eq!(words_of(source), ["a", "f", "i", "l", "q"]);
    }

    #[test]
    fn keeps_code_after_a_lifetime() {
        assert_eq!(words_of("fn f<'a>(x: &'a str) {}"), ["fn", "f", "a", "x", "a", "str"]);
    }

    #[test]
    fn keeps_lines() {
        let code = code_only("one /*\n*/ \"\n\" two");
        assert_eq!(words(&code), [(1, "one"), (3, "two")]);
    }

    #[test]
    fn keeps_a_fraction_together_and_tuple_fields_apart() {
        assert_eq!(words_of("1.5 x.0.1 0..9 2.max(3)"), ["1.5", "x", "0", "1", "0", "9", "2", "max", "3"]);
    }

    #[test]
    fn leaves_out_test_items_only() {
        let code = code_only(
            "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { if c {} } }\nfn d() {}\n#[cfg(test)]\nuse e::{f};\nfn g() {}",
        );
        let kept: Vec<_> = words(&without_tests(&code)).into_iter().map(|(_, word)| word.to_owned()).collect();
        assert_eq!(kept, ["fn", "a", "fn", "d", "fn", "g"]);
    }
}
