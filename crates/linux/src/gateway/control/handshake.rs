//! What two gateways say to each other beside the schemes' messages: a challenge, the answer to the other's, and who they
//! are.
//!
//! ```text
//!  0           8        16             20
//!  | challenge | answer | capabilities | length, program | length, scheme | length, mode |
//! ```

use super::ignored::Ignored;
use airtcp_core::Traffic;
use serde::{Deserialize, Serialize};

/// Longest text of a handshake.
const TEXT_MAX: usize = 32;

/// Who a gateway is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Bit 0: its scheme takes all of IP and not only TCP, which may differ between the ends. The others are 0.
    pub capabilities: u32,
    /// Version of the program.
    pub program: String,
    /// The scheme's slug.
    pub scheme: String,
    /// The scheme's mode, where it has any.
    pub mode: String,
}

impl Introduction {
    /// This program, with a scheme that takes `traffic` in a mode.
    pub fn new(scheme: &str, mode: &str, traffic: Traffic) -> Introduction {
        let text = |text: &str| text.chars().filter(char::is_ascii_graphic).take(TEXT_MAX).collect();
        let (scheme, mode, program) = (text(scheme), text(mode), text(env!("CARGO_PKG_VERSION")));
        Introduction { capabilities: u32::from(traffic != Traffic::Tcp), program, scheme, mode }
    }

    /// Why two gateways cannot work with each other.
    pub fn mismatch(&self, other: &Introduction) -> Option<Ignored> {
        if self.scheme != other.scheme {
            return Some(Ignored::OtherScheme);
        }
        (self.mode != other.mode).then_some(Ignored::OtherMode)
    }
}

/// One handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// A number that the other end has to answer, 0 for none.
    pub challenge: u64,
    /// The challenge that is answered, 0 for none.
    pub answer: u64,
    /// Who speaks.
    pub from: Introduction,
}

impl Handshake {
    /// As it stands on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = [self.challenge.to_be_bytes(), self.answer.to_be_bytes()].concat();
        bytes.extend(self.from.capabilities.to_be_bytes());
        for text in [&self.from.program, &self.from.scheme, &self.from.mode] {
            bytes.push(text.len() as u8);
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    /// Reads one; `None` if it is none. What follows is of a later program, and left alone.
    pub fn decode(mut bytes: &[u8]) -> Option<Handshake> {
        let challenge = u64::from_be_bytes(take(&mut bytes)?);
        let answer = u64::from_be_bytes(take(&mut bytes)?);
        let capabilities = u32::from_be_bytes(take(&mut bytes)?);
        let [program, scheme, mode] = [take_text(&mut bytes)?, take_text(&mut bytes)?, take_text(&mut bytes)?];
        Some(Handshake { challenge, answer, from: Introduction { capabilities, program, scheme, mode } })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

/// A text that cannot upset a terminal.
fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let [length] = take(bytes)?;
    let (text, rest) = bytes.split_at_checked(usize::from(length))?;
    *bytes = rest;
    let is_plain = text.len() <= TEXT_MAX && text.iter().all(u8::is_ascii_graphic);
    is_plain.then(|| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_and_no_part_of_it_is() {
        let from = Introduction::new("gsnoop", "modern", Traffic::All);
        let handshake = Handshake { challenge: 1, answer: u64::MAX, from };
        let bytes = handshake.encode();
        assert_eq!(Handshake::decode(&bytes), Some(handshake));
        for length in 0..bytes.len() {
            assert_eq!(Handshake::decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn a_text_that_could_upset_a_terminal_is_refused() {
        let from = Introduction { mode: "\x1b[2J".into(), ..Introduction::default() };
        assert_eq!(Handshake::decode(&Handshake { from, ..Handshake::default() }.encode()), None);
    }

    #[test]
    fn another_scheme_is_told_from_another_mode_and_another_program_does_not_matter() {
        let ours = Introduction::new("gsnoop", "modern", Traffic::Tcp);
        let mismatch = |scheme, mode| ours.mismatch(&Introduction::new(scheme, mode, Traffic::Tcp));
        assert_eq!(mismatch("arq", "modern"), Some(Ignored::OtherScheme));
        assert_eq!(mismatch("gsnoop", "paper"), Some(Ignored::OtherMode));
        assert_eq!(ours.mismatch(&Introduction { program: "9.9".into(), capabilities: 1, ..ours.clone() }), None);
    }
}
