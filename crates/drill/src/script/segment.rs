//! A segment in tcpdump's manner: `[ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`.
//! Sequence numbers are relative: 0 is each side's SYN.

use super::cursor::Cursor;
use airtcp_core::{Ecn, TcpFlags};
use std::fmt;

/// A segment to send, or what must have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentSpec {
    /// Marks of the IP header; not compared if not stated.
    pub ecn: Option<Ecn>,
    /// Flags.
    pub flags: TcpFlags,
    /// First sequence number.
    pub start: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// Window as on the wire; not compared if not stated.
    pub window: Option<u16>,
    /// Options.
    pub options: SegmentSpecOptions,
}

/// The options of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentSpecOptions {
    /// `<...>`: not compared.
    Any,
    /// These and no others; padding does not count.
    These(Vec<OptionSpec>),
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionSpec {
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// Timestamps: value and echo.
    Timestamps(u32, u32),
    /// SACK blocks.
    Sack(Vec<(u32, u32)>),
}

const FLAGS: [(char, TcpFlags); 8] = [
    ('F', TcpFlags::FIN),
    ('S', TcpFlags::SYN),
    ('R', TcpFlags::RST),
    ('P', TcpFlags::PSH),
    ('.', TcpFlags::ACK),
    ('U', TcpFlags::URG),
    ('E', TcpFlags::ECE),
    ('W', TcpFlags::CWR),
];

const MARKS: [(&str, Ecn); 4] =
    [("[noecn]", Ecn::NotEct), ("[ect0]", Ecn::Ect0), ("[ect1]", Ecn::Ect1), ("[ce]", Ecn::Ce)];

impl SegmentSpec {
    pub(super) fn parse(cursor: &mut Cursor) -> Result<SegmentSpec, String> {
        let ecn = MARKS.iter().find(|(mark, _)| cursor.take(mark)).map(|(_, ecn)| *ecn);
        let flags = flags(cursor)?;
        let start: u32 = cursor.value()?;
        cursor.need(":")?;
        let end: u32 = cursor.value()?;
        cursor.need("(")?;
        let len: u32 = cursor.value()?;
        cursor.need(")")?;
        if end.wrapping_sub(start) != len {
            return Err(format!("{start}:{end}({len}): the end is not the start plus the length"));
        }
        let ack = if cursor.take("ack ") { Some(cursor.value()?) } else { None };
        if ack.is_some() != flags.ack() {
            return Err("the flag '.' and 'ack' go together".into());
        }
        let window = if cursor.take("win ") { Some(cursor.value()?) } else { None };
        let options = options(cursor)?;
        Ok(SegmentSpec { ecn, flags, start, len, ack, window, options })
    }
}

fn flags(cursor: &mut Cursor) -> Result<TcpFlags, String> {
    let start = cursor.rest();
    let word = cursor.word(|c| !c.is_whitespace() && !c.is_ascii_digit());
    if word == "-" {
        return Ok(TcpFlags::default());
    }
    let mut flags = TcpFlags::default();
    for letter in word.chars() {
        let flag = FLAGS.iter().find(|(name, _)| *name == letter);
        let (_, flag) = flag.ok_or_else(|| format!("'{letter}' is no flag; flags are FSRP.UEW, or - for none"))?;
        flags = flags.with(*flag);
    }
    if word.is_empty() { Err(format!("expected flags at '{start}'")) } else { Ok(flags) }
}

fn options(cursor: &mut Cursor) -> Result<SegmentSpecOptions, String> {
    if !cursor.take("<") {
        return Ok(SegmentSpecOptions::These(Vec::new()));
    }
    let inside = cursor.until(">")?;
    if inside == "..." {
        return Ok(SegmentSpecOptions::Any);
    }
    let named = inside.split(',').map(str::trim).filter(|name| !matches!(*name, "nop" | "eol" | ""));
    Ok(SegmentSpecOptions::These(named.map(option).collect::<Result<_, _>>()?))
}

fn option(text: &str) -> Result<OptionSpec, String> {
    let mut cursor = Cursor::new(text);
    let option = if cursor.take("mss ") {
        OptionSpec::Mss(cursor.value()?)
    } else if cursor.take("wscale ") {
        OptionSpec::WindowScale(cursor.value()?)
    } else if cursor.take("sackOK") {
        OptionSpec::SackPermitted
    } else if cursor.take("TS val ") {
        let value = cursor.value()?;
        cursor.need("ecr ")?;
        OptionSpec::Timestamps(value, cursor.value()?)
    } else if cursor.take("sack ") {
        let mut blocks = Vec::new();
        while !cursor.is_empty() {
            let left = cursor.value()?;
            cursor.need(":")?;
            blocks.push((left, cursor.value()?));
        }
        OptionSpec::Sack(blocks)
    } else {
        return Err(format!("'{text}' is no option here; there are mss, wscale, sackOK, TS val ecr, sack, nop, eol"));
    };
    if cursor.is_empty() { Ok(option) } else { Err(format!("'{}' is left over in '{text}'", cursor.rest())) }
}

impl fmt::Display for SegmentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((mark, _)) = self.ecn.and_then(|ecn| MARKS.iter().find(|(_, known)| *known == ecn)) {
            write!(f, "{mark} ")?;
        }
        let letters: String =
            FLAGS.iter().filter(|(_, flag)| self.flags.0 & flag.0 != 0).map(|(name, _)| name).collect();
        let letters = if letters.is_empty() { "-" } else { &letters };
        write!(f, "{letters} {}:{}({})", self.start, self.start.wrapping_add(self.len), self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            SegmentSpecOptions::Any => write!(f, " <...>"),
            SegmentSpecOptions::These(options) if options.is_empty() => Ok(()),
            SegmentSpecOptions::These(options) => {
                let texts: Vec<String> = options.iter().map(ToString::to_string).collect();
                write!(f, " <{}>", texts.join(","))
            }
        }
    }
}

impl fmt::Display for OptionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionSpec::Mss(mss) => write!(f, "mss {mss}"),
            OptionSpec::WindowScale(shift) => write!(f, "wscale {shift}"),
            OptionSpec::SackPermitted => write!(f, "sackOK"),
            OptionSpec::Timestamps(value, echo) => write!(f, "TS val {value} ecr {echo}"),
            OptionSpec::Sack(blocks) => {
                write!(f, "sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SegmentSpec, String> {
        SegmentSpec::parse(&mut Cursor::new(text))
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for text in [
            "S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1 ecr 0,wscale 7>",
            "[ect0] P. 1:1001(1000) ack 1",
            ".EW 5:5(0) ack 7 win 3 <sack 10:20 30:40>",
            "- 0:0(0) <...>",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(read("P. 1:1001(10) ack 1").unwrap_err().contains("the length"));
        assert!(read(". 1:1(0)").unwrap_err().contains("go together"));
        assert!(read("X 1:1(0)").unwrap_err().contains("no flag"));
        assert!(read("S 0:0(0) <mzz 3>").unwrap_err().contains("no option"));
    }
}
