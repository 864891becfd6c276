//! Changes of a text that keep it lines of `key = value`.

/// Values worth trying for any key.
const VALUES: [&str; 24] = [
    "0", "1", "-1", "0.1", "1e3", "1_000", "1234567", "4294967296", "18446744073709551616", "0x7f", "inf", "nan", "true",
    "\"\"", "\"auto\"", "\"1.5Mbit\"", "\"10ms\"", "\"0.001%\"", "\"20packets\"", "\"64kB\"", "[]", "{}",
    "{ kind = \"none\" }", "[1, \"2\"]",
];

/// `text` with one line or value changed; `seed` decides which and how.
pub fn change(text: &str, seed: u32) -> String {
    let mut draw = Draw(u64::from(seed) | 1 << 32);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return "schema = 1\n".into();
    }
    let (at, other) = (draw.below(lines.len()), draw.below(lines.len()));
    match draw.below(5) {
        0 => drop(lines.remove(at)),
        1 => lines.swap(at, other),
        2 => {
            let copy = lines[at].clone();
            lines.insert(other, copy);
        }
        3 => {
            if let Some((key, _)) = lines[at].split_once('=') {
                lines[at] = format!("{key}= {}", VALUES[draw.below(VALUES.len())]);
            }
        }
        _ => lines[at] = lengthen_a_number(&lines[at], &mut draw),
    }
    lines.join("\n") + "\n"
}

/// Puts a digit or a point after one of the digits of a line.
fn lengthen_a_number(line: &str, draw: &mut Draw) -> String {
    let digits: Vec<usize> = line.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
    if digits.is_empty() {
        return line.to_owned();
    }
    let (before, after) = line.split_at(digits[draw.below(digits.len())] + 1);
    let piece = ["0", "1", "9", ".", "00", "5"][draw.below(6)];
    format!("{before}{piece}{after}")
}

/// A short random sequence (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
}
