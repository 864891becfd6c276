//! A line of a script, read from left to right.

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Cursor { rest: text.trim() }
    }

    pub fn rest(&self) -> &'a str {
        self.rest
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes `token` and the space behind it, if it is next.
    pub fn take(&mut self, token: &str) -> bool {
        let taken = self.rest.strip_prefix(token);
        if let Some(rest) = taken {
            self.rest = rest.trim_start();
        }
        taken.is_some()
    }

    /// Takes `token`.
    ///
    /// # Errors
    /// A sentence, if something else is next.
    pub fn need(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(format!("expected '{token}' at '{}'", self.rest)) }
    }

    /// Takes characters as long as `accepts` says; empty if none are.
    pub fn word(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c: char| !accepts(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    /// Takes everything before `end`, and `end`.
    ///
    /// # Errors
    /// A sentence, if there is no `end`.
    pub fn until(&mut self, end: &str) -> Result<&'a str, String> {
        let (before, after) =
            self.rest.split_once(end).ok_or_else(|| format!("'{end}' is missing after '{}'", self.rest))?;
        self.rest = after.trim_start();
        Ok(before.trim())
    }

    /// Takes a number, decimal or hexadecimal (0x).
    ///
    /// # Errors
    /// A sentence, if there is none.
    pub fn number(&mut self) -> Result<i64, String> {
        let start = self.rest;
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '-');
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        parsed.map_err(|_| format!("expected a number at '{start}'"))
    }

    /// Takes a number of a type.
    ///
    /// # Errors
    /// A sentence, if there is none or it is too large.
    pub fn value<T: TryFrom<i64>>(&mut self) -> Result<T, String> {
        let number = self.number()?;
        T::try_from(number).map_err(|_| format!("{number} is out of range"))
    }
}
