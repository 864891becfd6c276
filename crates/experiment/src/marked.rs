//! Sections of a page that a command writes, each between two marks, so that one of them can be written anew.

/// `body` between the marks of the section `name`.
pub fn section(name: &str, body: &str) -> String {
    let (begin, end) = marks(name);
    format!("{begin}{body}{end}")
}

/// What stands between the marks of the section `name`.
pub fn find<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (begin, end) = marks(name);
    Some(page.split_once(&begin)?.1.split_once(&end)?.0)
}

/// The page with `body` in the section `name`, at the end if there was none.
pub fn replaced(page: &str, name: &str, body: &str) -> String {
    match find(page, name) {
        Some(old) => page.replacen(&section(name, old), &section(name, body), 1),
        None => format!("{}\n\n{}", page.trim_end_matches('\n'), section(name, body)),
    }
}

fn marks(name: &str) -> (String, String) {
    (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_in_its_place() {
        let page = replaced(&replaced("# Head\n", "one", "1\n"), "two", "2\n");
        assert_eq!(page, "# Head\n\n<!-- one -->\n1\n<!-- end of one -->\n\n<!-- two -->\n2\n<!-- end of two -->\n");
        let again = replaced(&page, "one", "3\n");
        assert_eq!((find(&again, "one"), find(&again, "two"), find(&again, "three")), (Some("3\n"), Some("2\n"), None));
        assert!(again.find("3\n") < again.find("2\n"));
        assert_eq!(replaced(&again, "two", "2\n"), again);
    }
}
