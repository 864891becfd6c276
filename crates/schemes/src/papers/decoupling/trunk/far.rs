//! The receiving end of a trunk.

use super::message::{self, Way};
use crate::papers::decoupling::CircuitEnd;
use airtcp_core::{Context, CreateReason, Element, Instant, Packet, Port};

/// The receivers of the control TCPs.
#[derive(Debug)]
pub struct Far {
    end: CircuitEnd,
    /// Control TCPs travel in messages, and not as segments.
    by_message: bool,
}

impl Far {
    /// The element at the end of the path.
    pub fn new(end: CircuitEnd) -> Far {
        Far { end, by_message: false }
    }

    /// The same, whose control TCPs travel in messages: nobody but the other end can have sent them.
    pub(super) fn by_message(end: CircuitEnd) -> Far {
        Far { end: end.trusting(), by_message: true }
    }

    /// True for a segment of a control TCP.
    pub(super) fn owns(&self, packet: &Packet) -> bool {
        self.end.owns(packet)
    }

    /// The sending end is about to open its control TCPs anew.
    pub(super) fn expect_anew(&mut self) {
        self.end.expect_anew();
    }

    /// A segment of a control TCP that came in a message.
    pub(super) fn handle_segment(&mut self, cx: &mut Context<'_>, segment: &Packet) {
        self.end.handle_control(cx.now(), segment);
        self.drive(cx);
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.end.poll_transmit(cx.now()) {
            if self.by_message {
                message::send(cx, Way::Back, &packet);
            } else {
                let packet = cx.create(packet, CreateReason::CONTROL);
                cx.send(Port::LINK, packet);
            }
        }
    }
}

impl Element for Far {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port != Port::LINK || !self.end.owns(&packet) {
            return cx.send(port.opposite(), packet);
        }
        self.end.handle_control(cx.now(), &packet);
        message::end(cx, packet);
        self.drive(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.end.handle_timeout(cx.now());
        self.drive(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.end.poll_timeout()
    }

    fn check(&self) -> Result<(), &'static str> {
        self.end.check()
    }
}
