//! Datagrams that the kernel is given at once (UDP GSO): it cuts them apart behind routing and filters, or the device does.

/// Most datagrams that the kernel cuts (`UDP_MAX_SEGMENTS` before Linux 6.9).
const DATAGRAMS: usize = 64;
/// Most bytes.
const BYTES: usize = 65_507;

/// Datagrams of one length in a row; the last may be shorter.
#[derive(Debug, Default)]
pub(super) struct Train {
    bytes: Vec<u8>,
    /// Bytes of each but the last.
    segment: usize,
    count: usize,
}

impl Train {
    /// True if the datagram can follow those that are here.
    pub fn takes(&self, datagram: &[u8]) -> bool {
        let has_short_end = self.bytes.len() < self.count * self.segment;
        self.count == 0
            || !has_short_end
                && self.count < DATAGRAMS
                && !datagram.is_empty()
                && datagram.len() <= self.segment
                && self.bytes.len() + datagram.len() <= BYTES
    }

    /// Puts a datagram behind those that are here; it must be one that [`Train::takes`].
    pub fn push(&mut self, datagram: &[u8]) {
        if self.count == 0 {
            self.segment = datagram.len();
        }
        self.bytes.extend_from_slice(datagram);
        self.count += 1;
    }

    /// How many are here.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All that is here.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length of a datagram, but of the last.
    pub fn segment(&self) -> usize {
        self.segment
    }

    /// One by one.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        // A datagram without bytes is alone.
        let alone = (self.segment == 0 && self.count == 1).then_some(&self.bytes[..]);
        alone.into_iter().chain(self.bytes.chunks(self.segment.max(1)))
    }

    /// Nothing is here any more.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of the trains that datagrams of these lengths leave in.
    fn trains(lengths: &[usize]) -> Vec<Vec<usize>> {
        let (mut train, mut made) = (Train::default(), Vec::new());
        let mut leave = |train: &mut Train| {
            made.push(train.datagrams().map(<[u8]>::len).collect::<Vec<_>>());
            train.clear();
        };
        for (index, length) in lengths.iter().enumerate() {
            let datagram = vec![index as u8; *length];
            if !train.takes(&datagram) {
                leave(&mut train);
            }
            train.push(&datagram);
        }
        leave(&mut train);
        made
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
