//! Waiting for a killed gateway to be gone altogether.
//!
//! The kernel takes a killed process apart piece by piece: its sockets, devices and nft table
//! vanish within milliseconds of one another, on a busy machine within a fraction of a second,
//! and traffic flows plainly before the last one is gone. A gateway that is started at that
//! moment waits for them instead of failing.

use crate::sys::clock;
use airtcp_core::Duration;

/// How long a predecessor may take to vanish; what is still there then belongs to somebody else.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two attempts.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// Attempts it again for as long as something `is_in_the_way` that a predecessor may have left.
pub fn wait_out<T, E>(is_in_the_way: impl Fn(&E) -> bool, mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let deadline = clock::now() + PATIENCE;
    loop {
        match attempt() {
            Err(error) if is_in_the_way(&error) && clock::now() < deadline => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vanishes_in_time_is_waited_for_and_what_stays_is_reported() {
        let mut attempts = 0;
        let mut vanishing = || {
            attempts += 1;
            if attempts == 3 { Ok(()) } else { Err("for a moment") }
        };
        assert_eq!(wait_out(|_| true, &mut vanishing), Ok(()));
        assert_eq!(wait_out(|_| true, || Err::<(), _>("for good")), Err("for good"));
    }

    #[test]
    fn an_error_of_another_kind_is_reported_at_once() {
        let mut attempts = 0;
        let mut attempt = || {
            attempts += 1;
            Err::<(), _>("no permission")
        };
        assert_eq!(wait_out(|error| *error == "in use", &mut attempt), Err("no permission"));
        assert_eq!(attempts, 1);
    }
}
