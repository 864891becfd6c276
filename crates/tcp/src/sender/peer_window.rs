//! The window the peer offers (RFC 9293 section 3.10.7.4).

/// Offsets up to which the peer takes data.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerWindow {
    /// One past the highest offset the peer takes.
    pub edge: u64,
    /// Largest window ever offered.
    pub largest: u64,
    shift: u8,
    size: u64,
    /// Sequence offset of the segment used last, on the peer's numbering (SND.WL1).
    used_sequence: i64,
}

impl PeerWindow {
    /// The window of a SYN, which is never scaled; `shift` holds from now on.
    pub fn start(&mut self, field: u16, shift: u8, una: u64) {
        self.shift = shift.min(14);
        self.size = u64::from(field);
        self.largest = self.size;
        self.edge = una + self.size;
    }

    /// It takes nothing.
    pub fn is_closed(&self) -> bool {
        self.size == 0
    }

    /// Takes the window of a segment at `sequence` that acknowledges `ack`, unless the segment is
    /// older than the one used last. Says whether it was taken.
    pub fn update(&mut self, field: u16, sequence: i64, ack: u64, una: u64) -> bool {
        let is_news = ack > una || self.is_news(field, sequence);
        if is_news {
            let size = u64::from(field) << self.shift;
            self.used_sequence = sequence;
            self.size = size;
            self.largest = self.largest.max(size);
            self.edge = ack + size;
        }
        is_news
    }

    /// Whether the window of a segment at `sequence` that acknowledges nothing new says something new.
    #[inline]
    pub fn is_news(&self, field: u16, sequence: i64) -> bool {
        let size = u64::from(field) << self.shift;
        sequence > self.used_sequence
            || sequence == self.used_sequence && (size > self.size || size == 0 && self.size != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_segment_does_not_take_the_window_back() {
        let mut window = PeerWindow::default();
        window.start(1000, 2, 1);
        assert!(window.update(500, 10, 1, 1));
        assert_eq!(window.edge, 2001);
        assert!(!window.update(1, 9, 1, 1));
        assert!(!window.update(500, 10, 1, 1));
        assert!(window.update(0, 10, 1, 1));
        assert_eq!(window.edge, 1);
    }
}
