//! Whether the link lost something, where packets have no numbers: what left and did not come, in bytes.

/// A packet that is overtaken by so many reports is lost.
const REPORTS: usize = 3;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// What was missing at the time of the latest loss, or less.
    known: Option<i64>,
    /// What was missing of late and not known; the latest last.
    doubtful: [i64; REPORTS],
    count: usize,
}

impl Missing {
    /// Of `sent` bytes of packets up to one that came, `received` came. True if something was lost since the answer was last true.
    pub fn add(&mut self, sent: u64, received: u64) -> bool {
        let missing = sent.wrapping_sub(received).cast_signed();
        let known = *self.known.get_or_insert(missing);
        if missing <= known {
            (self.known, self.count) = (Some(missing), 0);
            return false;
        }
        self.doubtful.rotate_left(1);
        self.doubtful[REPORTS - 1] = missing;
        self.count += 1;
        if self.count < REPORTS {
            return false;
        }
        (self.known, self.count) = (self.doubtful.into_iter().min(), 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_once_and_what_is_late_is_none() {
        let mut missing = Missing::default();
        let mut lost = |sent, received| missing.add(sent, received);
        assert!(!lost(5000, 1000), "whatever was before");
        assert!(!lost(6000, 1500) && !lost(7000, 2500) && !lost(8000, 4000), "500 bytes were late");
        assert!(!lost(9000, 4500) && !lost(10_000, 5500) && lost(11_000, 6500), "500 are missing");
        assert!(!lost(12_000, 7500) && !lost(13_000, 8500) && !lost(14_000, 9500));
    }

    #[test]
    fn what_comes_twice_hides_no_loss_for_long() {
        let mut missing = Missing::default();
        let mut lost = |sent, received| missing.add(sent, received);
        assert!(!lost(1000, 1000) && !lost(2000, 3000));
        assert!(!lost(3000, 3000) && !lost(4000, 4000) && lost(5000, 5000));
    }
}
