//! How the rates of long flows move (RFC 5166, 2.2 and 2.3).

use super::table::metrics;
use super::{Combine, Members, Unit};

metrics! { METRICS: Combine::Decimals(4), Members::None;
    /// standard deviation over mean of a flow's goodput from second to second, of flows without a size; of several the highest
    "rate_variation", "rate varies", Unit::Share => |run, _| run.outcome.dynamics.rate_variation_ppm.map(|ppm| ppm as f64 / 1e6);
}

metrics! { CONVERGENCE: Combine::Whole, Members::None;
    /// from the last start of a flow without a size until for a second all have fair shares (Jain's index 0.99)
    "convergence_ns", "converges in", Unit::Seconds =>
        |run, _| run.outcome.dynamics.convergence.map(|time| time.as_nanos() as f64);
}
