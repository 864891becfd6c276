//! Packets that have ended: others are made of their memory.

use airtcp_core::Packet;

/// So many are kept: as many as thousands of flows may lose, or receive, before they send as many again. Argued, not swept.
const MOST: usize = 4096;

/// See the module. What ended last is in the near caches and taken first.
#[derive(Debug, Default)]
pub struct Spares(Vec<Packet>);

impl Spares {
    /// Keeps one, or frees it.
    pub fn keep(&mut self, packet: Packet) {
        if self.0.len() < MOST {
            self.0.push(packet);
        }
    }

    /// One of them, if there is any.
    pub fn take(&mut self) -> Option<Packet> {
        self.0.pop()
    }
}
