//! Quantities of a link that change while it runs: its rate, its delay, its loss.
//!
//! A varying quantity has one value at a time and keeps it for a while: a piece. What a file writes says where the
//! pieces come from: [`steps`] that are listed, a recorded [`trace`], or a model that draws them ([`walk`],
//! [`handover`]) from a stream of its own, so that each seed has another course. A [`Course`](course::Course) is one at
//! work; it is asked for later and later times only.

pub(crate) mod course;
mod delay;
mod forecast;
pub mod handover;
mod power;
mod rate;
pub mod steps;
mod table;
pub mod trace;
pub mod walk;

pub(crate) use delay::DelayCourse;
pub use delay::{LinkDelay, VaryingDelay};
pub use forecast::{Forecast, Foresight, Hindsight};
pub(crate) use rate::RateCourse;
pub use rate::{LinkRate, VaryingRate};
