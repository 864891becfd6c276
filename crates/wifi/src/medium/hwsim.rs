//! The messages of MAC80211_HWSIM (drivers/net/wireless/virtual/mac80211_hwsim.h): who has registered gets every frame that
//! a simulated radio sends, decides who receives it, and tells the sender what became of it.

use super::frame::Address;
use airtcp_linux::sys::genetlink::{Message, Request};

/// The family's name.
pub const FAMILY: &str = "MAC80211_HWSIM";

const CMD_REGISTER: u8 = 1;
const CMD_FRAME: u8 = 2;
const CMD_TX_INFO_FRAME: u8 = 3;
const ATTR_ADDR_RECEIVER: u16 = 1;
const ATTR_ADDR_TRANSMITTER: u16 = 2;
const ATTR_FRAME: u16 = 3;
const ATTR_FLAGS: u16 = 4;
const ATTR_RX_RATE: u16 = 5;
const ATTR_SIGNAL: u16 = 6;
const ATTR_TX_INFO: u16 = 7;
const ATTR_COOKIE: u16 = 8;
const ATTR_FREQ: u16 = 19;
const TX_STAT_ACK: u32 = 1 << 2;
/// Rates that a radio tries one after the other: pairs of an index and a count.
const RATES: usize = 4;
/// What every receiver hears, in dBm.
const SIGNAL: i32 = -30;
/// By what the second address of a radio, by which the kernel knows it, differs from the first.
const SECOND_ADDRESS: u8 = 0x40;

/// Number of a radio, in the order in which the driver made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Radio(pub u8);

impl Radio {
    /// The radio whose first or second address this is.
    pub fn of(address: Address) -> Option<Radio> {
        let [first, 0, 0, 0, number, 0] = address else { return None };
        (first & !SECOND_ADDRESS == 2).then_some(Radio(number))
    }

    /// Its address in messages.
    fn address(self) -> Address {
        [2 | SECOND_ADDRESS, 0, 0, 0, self.0, 0]
    }
}

/// A frame that a radio sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Whose it is.
    pub from: Radio,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
    cookie: [u8; 8],
    flags: u32,
    rates: [u8; 2 * RATES],
    frequency: Option<u32>,
}

/// Asks for all frames.
pub fn register(family: u16) -> Request {
    Request::new(family, CMD_REGISTER)
}

impl Heard {
    /// Reads a message; `None` if it is none about a frame.
    pub fn read(message: &Message<'_>) -> Option<Heard> {
        if message.command != CMD_FRAME {
            return None;
        }
        let mut rates = [0xff; 2 * RATES];
        let told = message.get(ATTR_TX_INFO).unwrap_or_default();
        let length = told.len().min(rates.len());
        rates[..length].copy_from_slice(&told[..length]);
        Some(Heard {
            from: Radio::of(message.get(ATTR_ADDR_TRANSMITTER)?.try_into().ok()?)?,
            bytes: message.get(ATTR_FRAME)?.to_vec(),
            cookie: message.get(ATTR_COOKIE)?.try_into().ok()?,
            flags: message.number(ATTR_FLAGS)?,
            rates,
            frequency: message.number(ATTR_FREQ),
        })
    }

    /// Has a radio receive it.
    pub fn deliver(&self, family: u16, to: Radio) -> Request {
        let request = Request::new(family, CMD_FRAME)
            .with(ATTR_ADDR_RECEIVER, &to.address())
            .with(ATTR_FRAME, &self.bytes)
            .with(ATTR_RX_RATE, &0u32.to_ne_bytes())
            .with(ATTR_SIGNAL, &SIGNAL.to_ne_bytes());
        match self.frequency {
            Some(frequency) => request.with(ATTR_FREQ, &frequency.to_ne_bytes()),
            None => request,
        }
    }

    /// Tells its sender what became of it, after so many transmissions.
    pub fn conclude(&self, family: u16, is_acknowledged: bool, tries: u8) -> Request {
        let flags = if is_acknowledged { self.flags | TX_STAT_ACK } else { self.flags };
        // All at the first rate; -1 is none.
        let mut rates = [0xff; 2 * RATES];
        (rates[0], rates[1]) = (self.rates[0], tries);
        Request::new(family, CMD_TX_INFO_FRAME)
            .with(ATTR_ADDR_TRANSMITTER, &self.from.address())
            .with(ATTR_FLAGS, &flags.to_ne_bytes())
            .with(ATTR_SIGNAL, &SIGNAL.to_ne_bytes())
            .with(ATTR_TX_INFO, &rates)
            .with(ATTR_COOKIE, &self.cookie)
    }
}

#[cfg(test)]
impl Heard {
    /// A frame that was never sent.
    pub fn for_tests(from: u8, bytes: Vec<u8>) -> Heard {
        Heard { from: Radio(from), bytes, cookie: [from; 8], flags: 0, rates: [0; 8], frequency: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_is_known_by_both_its_addresses_and_no_other() {
        assert_eq!(Radio::of([2, 0, 0, 0, 3, 0]), Some(Radio(3)));
        assert_eq!(Radio::of(Radio(3).address()), Some(Radio(3)));
        assert_eq!(Radio::of([0xff; 6]), None);
        assert_eq!(Radio::of([2, 0, 0, 0, 3, 1]), None);
    }
}
