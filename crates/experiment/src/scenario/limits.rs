//! What a file cannot ask for, as it can only be a mistake.

use airtcp_core::Duration;

/// More runs of a cell than this are a mistake in the file.
pub(super) const MAX_RUNS: u32 = 100_000;

/// Longer times than this, 11 days, are a mistake in the file, and sums of them would not fit.
pub(super) const LONGEST: Duration = Duration::from_secs(1_000_000);

/// Samples are counted in milliseconds.
pub(super) const LEAST_SAMPLE: Duration = Duration::from_millis(1);

/// More samples than this nobody sees in a figure.
pub(super) const MOST_SAMPLES: u64 = 20_000;
