//! `%{ assert tcpi_snd_cwnd == 10 }%`: what the connection's state must be.

use super::cursor::Cursor;

/// A field of `struct tcp_info` compared with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// Name of the field, as in linux/tcp.h.
    pub field: String,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub value: i64,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// Longer signs before their beginnings.
const SIGNS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

const NAMES: [(&str, i64); 6] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
];

impl Assertion {
    /// Whether `value` is as it must be.
    pub fn holds(&self, value: i64) -> bool {
        match self.comparison {
            Comparison::Equal => value == self.value,
            Comparison::Unequal => value != self.value,
            Comparison::Below => value < self.value,
            Comparison::AtMost => value <= self.value,
            Comparison::Above => value > self.value,
            Comparison::AtLeast => value >= self.value,
        }
    }

    /// Reads the text between `%{` and `}%`: assertions, separated by semicolons.
    pub(super) fn parse_all(text: &str) -> Result<Vec<Assertion>, String> {
        text.split(';').map(str::trim).filter(|text| !text.is_empty()).map(parse).collect()
    }
}

fn parse(text: &str) -> Result<Assertion, String> {
    let mut cursor = Cursor::new(text);
    cursor.need("assert ")?;
    let field = cursor.word(|c| c.is_ascii_alphanumeric() || c == '_');
    let sign = SIGNS.iter().find(|(sign, _)| cursor.take(sign));
    let (_, comparison) = sign.ok_or_else(|| format!("expected a comparison at '{}'", cursor.rest()))?;
    let name = NAMES.iter().find(|(name, _)| cursor.take(name));
    let value = match name {
        Some((_, value)) => *value,
        None => cursor.number()?,
    };
    if !cursor.is_empty() {
        return Err(format!("'{}' is left over; separate assertions with ';'", cursor.rest()));
    }
    Ok(Assertion { field: field.to_owned(), comparison: *comparison, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_compared() {
        let all = Assertion::parse_all("assert tcpi_snd_cwnd >= 10; assert tcpi_ca_state == TCP_CA_Recovery").unwrap();
        assert_eq!(all.len(), 2);
        assert!(all[0].holds(10) && !all[0].holds(9));
        assert!(all[1].holds(3) && !all[1].holds(4));
        assert!(Assertion::parse_all("assert tcpi_rtt 4").is_err());
    }
}
