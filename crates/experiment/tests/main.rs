//! Every integration test of this crate in one binary: it links once, and all its tests share the cores.

mod browser;
mod built_in_papers;
mod captures;
mod common;
mod common_random_numbers;
mod controllers;
mod corpus;
mod headline;
mod metrics;
mod output;
mod over_time;
mod paper;
mod paper_changes;
mod paper_errors;
mod paper_resume;
mod parquet;
mod placement;
mod report_in_browser;
mod reproduce;
mod results;
mod resume;
mod scenario;
mod scenario_errors;
mod sockets;
mod wlan;
mod wrong_rate;
