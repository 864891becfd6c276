//! Seeds that once failed, kept with what they were: `seeds.txt`, one a line, replayed by a test.

const TEXT: &str = include_str!("../seeds.txt");

/// A kept seed and the words that stand behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The seed.
    pub seed: u64,
    /// What it found.
    pub about: &'static str,
}

/// Every kept seed.
///
/// # Errors
/// The line that is no seed with a comment.
pub fn kept() -> Result<Vec<Kept>, String> {
    let lines = TEXT.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| read(line).ok_or_else(|| format!("seeds.txt: '{line}' is not a seed, '#' and what it found")))
        .collect()
}

fn read(line: &'static str) -> Option<Kept> {
    let (seed, about) = line.split_once('#')?;
    let about = about.trim();
    let seed = seed.trim().parse().ok()?;
    (!about.is_empty()).then_some(Kept { seed, about })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_seed_and_what_it_found() {
        assert_eq!(read("17  # an overflow"), Some(Kept { seed: 17, about: "an overflow" }));
        assert_eq!(read("17"), None);
        assert_eq!(read("17 #"), None);
        assert_eq!(read("x # y"), None);
    }

    #[test]
    fn the_file_reads() {
        kept().unwrap();
    }
}
