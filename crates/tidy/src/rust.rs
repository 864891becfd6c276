//! Just enough Rust: which bytes of a source file are code, and which of those are test code.

/// The source with comments, string contents and character literals replaced by spaces; line numbers stay.
pub fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if !within_word(bytes, at) => raw_string_end(bytes, at).unwrap_or(at),
            b'\'' => character_end(bytes, at).unwrap_or(at),
            _ => at,
        };
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).expect("only whole literals and comments were replaced, by ASCII")
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

/// Whether the `r` at `at` is the tail of a longer name; `br"` and `cr"` start a raw string too.
fn within_word(bytes: &[u8], at: usize) -> bool {
    match at.checked_sub(1).map(|before| bytes[before]) {
        Some(b'b' | b'c') => at >= 2 && is_word(bytes[at - 2]),
        Some(before) => is_word(before),
        None => false,
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let hashes = bytes[start + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = start + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let length = bytes[open + 1..].windows(close.len()).position(|window| window == close);
    Some(length.map_or(bytes.len(), |length| open + 1 + length + close.len()))
}

/// The end of a character literal; `None` for a lifetime.
fn character_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start + 1) == Some(&b'\\') {
        let close = bytes.get(start + 3..)?.iter().position(|&byte| byte == b'\'')?;
        return Some(start + 3 + close + 1);
    }
    // One character of up to four bytes, then the closing quote.
    let first = *bytes.get(start + 1)?;
    let length = match first {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    (bytes.get(start + 1 + length) == Some(&b'\'')).then_some(start + 2 + length)
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
        assert_eq!(words_of(source), ["a", "f", "i", "l", "b", "b", "q"]);
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
