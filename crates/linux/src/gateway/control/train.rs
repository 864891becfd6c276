//! Datagrams that the kernel is given at once (UDP GSO): it cuts them apart behind routing and filters, or the device does.

use std::ops::Range;

/// Most datagrams that the kernel cuts (`UDP_MAX_SEGMENTS` before Linux 6.9).
const DATAGRAMS: usize = 64;
/// Most bytes.
const BYTES: usize = 65_507;

/// Datagrams of one length that stand one behind the other; the last may be shorter.
#[derive(Clone, Debug, Default)]
pub(super) struct Train {
    place: Range<usize>,
    /// Bytes of each but the last.
    segment: usize,
    count: usize,
}

impl Train {
    /// Takes the datagram that stands at `place`, if it can follow those that are here.
    ///
    /// # Errors
    /// It cannot: the others go first.
    pub fn push(&mut self, place: &Range<usize>) -> Result<(), Full> {
        if self.count == 0 {
            *self = Train { place: place.clone(), segment: place.len(), count: 1 };
            return Ok(());
        }
        let has_short_end = self.place.len() < self.count * self.segment;
        let follows = place.start == self.place.end
            && !has_short_end
            && self.count < DATAGRAMS
            && !place.is_empty()
            && place.len() <= self.segment
            && self.place.len() + place.len() <= BYTES;
        if !follows {
            return Err(Full);
        }
        self.place.end = place.end;
        self.count += 1;
        Ok(())
    }

    /// How many are here.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Where they stand.
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// The length of a datagram, but of the last.
    pub fn segment(&self) -> usize {
        self.segment
    }
}

/// See [`Train::push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of the trains that datagrams of these lengths leave in, which follow one another.
    fn trains(lengths: &[usize]) -> Vec<Vec<usize>> {
        let (mut train, mut made) = (Train::default(), Vec::new());
        let mut leave = |train: &mut Train| {
            let Range { start, end } = train.place();
            let cuts = (start..end).step_by(train.segment().max(1));
            let cut: Vec<_> = cuts.map(|at| train.segment().min(end - at)).collect();
            made.push(if train.place().is_empty() { vec![0; train.count()] } else { cut });
            assert_eq!(made.last().map(Vec::len), Some(train.count()));
            *train = Train::default();
        };
        let mut start = 0;
        for length in lengths {
            let place = start..start + length;
            if train.push(&place).is_err() {
                leave(&mut train);
                assert_eq!(train.push(&place), Ok(()));
            }
            start += length;
        }
        leave(&mut train);
        made
    }

    #[test]
    fn a_train_has_no_gap() {
        let mut train = Train::default();
        assert_eq!([0..5, 6..11].map(|place| train.push(&place)), [Ok(()), Err(Full)]);
    }

    #[test]
    fn a_train_ends_with_the_first_that_is_shorter() {
        assert_eq!(trains(&[9, 9, 5, 5, 7]), [vec![9, 9, 5], vec![5], vec![7]]);
        assert_eq!(trains(&[5, 9]), [vec![5], vec![9]]);
        assert_eq!(trains(&[4]), [vec![4]]);
    }

    #[test]
    fn a_train_is_no_longer_than_the_kernel_takes() {
        let of = |length, count| trains(&vec![length; count]).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(of(100, 130), [64, 64, 2]);
        assert_eq!(of(1472, 50), [44, 6]);
        assert_eq!(of(65_507, 2), [1, 1]);
    }

    #[test]
    fn what_has_no_bytes_goes_alone() {
        assert_eq!(trains(&[0, 3, 3, 0]), [vec![0], vec![3, 3], vec![0]]);
    }
}
