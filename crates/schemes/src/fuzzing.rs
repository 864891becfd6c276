//! Properties for the fuzzers: each takes arbitrary bytes and panics when a property fails.

mod feedback;

pub use feedback::feedback;

use crate::baselines::{arq, autorate, fec, fec_tunnel};
use crate::local_recovery;
use crate::papers::decoupling::header_hop;
use crate::papers::gsnoop::Message;
use bytes::Bytes;

/// Control messages: whatever decodes encodes to exactly the same bytes.
pub fn control(data: &[u8]) {
    if let Some(message) = Message::decode(data) {
        assert_eq!(message.encode(), data, "a control message has one encoding only");
    }
    if let Some(message) = arq::Message::decode(data) {
        assert_eq!(message.encode(), data, "a message of link ARQ has one encoding only");
    }
    if let Some(shim) = local_recovery::decode_shim(data) {
        assert_eq!(local_recovery::encode_shim(&shim), data, "a frame of local recovery has one encoding only");
    }
    if let Some(message) = local_recovery::Message::decode(data) {
        assert_eq!(message.encode(), data, "a message of local recovery has one encoding only");
    }
    if let Some(message) = fec::Message::decode(data) {
        assert_eq!(message.encode(), data, "a message of link FEC has one encoding only");
    }
    if let Some(frame) = arq::Frame::decode(data) {
        assert_eq!(frame.encode(), data, "a frame of link ARQ has one encoding only");
    }
    if let Some(body) = header_hop::Body::decode(data) {
        assert_eq!(body.encode(), data, "a compressed header has one encoding only");
    }
    if let Some(repairable) = header_hop::Repairable::decode(&Bytes::copy_from_slice(data)) {
        assert_eq!(repairable.encode(), data, "a repairable header has one encoding only");
    }
    if let Some(frame) = fec::Frame::decode(data) {
        assert_eq!(frame.encode(), data, "a frame of link FEC has one encoding only");
    }
    if let Some(message) = autorate::Message::decode(data) {
        assert_eq!(message.encode(), data, "a message of autorate has one encoding only");
    }
    if let Some(frame) = fec_tunnel::Frame::decode(data) {
        assert_eq!(frame.encode(), data, "a frame of the FEC tunnel has one encoding only");
    }
}
