//! A windowed maximum in constant space (Linux `lib/win_minmax.c`, after Kathleen Nichols): the
//! best three samples of the window, each from a later part of it.

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Time, in whatever the window is in; wraps.
    t: u32,
    v: u64,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinMax {
    s: [Sample; 3],
}

impl MinMax {
    /// The maximum.
    pub fn get(&self) -> u64 {
        self.s[0].v
    }

    /// Forgets all but one sample.
    pub fn reset(&mut self, t: u32, meas: u64) -> u64 {
        self.s = [Sample { t, v: meas }; 3];
        meas
    }

    /// Takes a sample; returns the maximum of the last `win`.
    pub fn running_max(&mut self, win: u32, t: u32, meas: u64) -> u64 {
        let val = Sample { t, v: meas };
        if val.v >= self.s[0].v || val.t.wrapping_sub(self.s[2].t) > win {
            return self.reset(t, meas);
        }
        if val.v >= self.s[1].v {
            (self.s[1], self.s[2]) = (val, val);
        } else if val.v >= self.s[2].v {
            self.s[2] = val;
        }
        self.subwin_update(win, val)
    }

    /// Replaces samples that are too old by later ones.
    fn subwin_update(&mut self, win: u32, val: Sample) -> u64 {
        let dt = val.t.wrapping_sub(self.s[0].t);
        if dt > win {
            self.s = [self.s[1], self.s[2], val];
            if val.t.wrapping_sub(self.s[0].t) > win {
                self.s = [self.s[1], self.s[2], val];
            }
        } else if self.s[1].t == self.s[0].t && dt > win / 4 {
            (self.s[1], self.s[2]) = (val, val);
        } else if self.s[2].t == self.s[1].t && dt > win / 2 {
            self.s[2] = val;
        }
        self.s[0].v
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    #[test]
    fn a_maximum_is_forgotten_when_it_leaves_the_window() {
        let mut max = MinMax::default();
        max.reset(0, 100);
        for t in 1..=10 {
            assert_eq!(max.running_max(10, t, 50), 100, "{t}");
        }
        assert_eq!(max.running_max(10, 11, 50), 50);
    }

    #[test]
    fn it_is_never_above_the_window_s_true_maximum_and_never_below_the_newest_sample() {
        let mut rng = Rng::derive(1, "minmax");
        let (mut max, mut samples) = (MinMax::default(), alloc::vec::Vec::new());
        max.reset(u32::MAX - 50, 0);
        for n in 0..2000_u32 {
            let t = (u32::MAX - 50).wrapping_add(n);
            let meas = rng.below(1000);
            samples.push(meas);
            let truth = samples.iter().rev().take(11).max().copied().unwrap();
            let got = max.running_max(10, t, meas);
            assert!(got <= truth && got >= meas, "{got} of {truth}");
        }
    }
}
