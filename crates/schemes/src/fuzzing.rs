//! Properties for the fuzzers: each takes arbitrary bytes and panics when a property fails.

use crate::gsnoop::Message;

/// Control messages: whatever decodes encodes to exactly the same bytes.
pub fn control(data: &[u8]) {
    if let Some(message) = Message::decode(data) {
        assert_eq!(message.encode(), data, "a control message has one encoding only");
    }
}
