//! Every column of every table: its name, what it holds, and what it means. The Parquet files, `airtcp show data`, docs/data.md
//! and the Python package are made from it.

/// A file of rows.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its place in [`TABLES`].
    pub index: usize,
    /// `runs.parquet`.
    pub file: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// The columns behind those of [`KEY`], and of [`RUN`] but for the first table.
    pub columns: &'static [Column],
}

/// A column. Units stand in its name and are base units.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// As the file has it.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Unsigned, 64 bits; may be missing.
    Integer,
    /// A double; may be missing.
    Real,
}

impl Table {
    /// Every column but those of the varied keys.
    pub fn all(&self) -> impl Iterator<Item = &'static Column> {
        let run = if self.index == CELLS.index { &[] } else { RUN };
        KEY.iter().chain(run).chain(self.columns)
    }
}

impl Kind {
    /// As the dictionary says it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Integer => "integer",
            Kind::Real => "real",
        }
    }
}

/// How many tables there are.
pub const COUNT: usize = 5;

/// Columns of every file behind those of the varied keys.
pub const KEY: &[Column] = &[integer("cell", "place of the cell in the scenario, from 0")];

/// Columns behind that, of files whose rows are of single runs.
pub const RUN: &[Column] = &[integer("run", "which run of the cell, from 0"), integer("seed", "the seed of this run")];

/// Every file.
pub const TABLES: [&Table; COUNT] = [&CELLS, &RUNS, &METRICS, &COUNTERS, &SERIES];

pub(super) const CELLS: Table = Table {
    index: 0,
    file: "cells.parquet",
    about: "a cell and metric that it tells: what tables and figures show",
    columns: &[
        text("name", "a metric of the table below"),
        real("median", "over the runs of the cell, in base units"),
        real("low", "lower end of its 95 % interval; counters have none"),
        real("high", "upper end of the same"),
    ],
};

pub(super) const RUNS: Table = Table {
    index: 1,
    file: "runs.parquet",
    about: "a run and flow",
    columns: &[
        text("flow", "name of the flow"),
        real(
            "goodput_bps",
            "application bits per second in the measured time; of a flow that was done, over its own time",
        ),
        real("ceiling_bps", "the goodput that no repair can exceed, all flows of the run together"),
        integer("measured_bytes", "application bytes that arrived in the measured time"),
        integer("measured_ns", "the time over which goodput is taken"),
        integer("total_bytes", "application bytes that arrived in the whole run"),
        integer("completion_ns", "time until a flow of fixed size was complete, with its handshake"),
        integer("transfer_ns", "the same without the handshake"),
        integer("retransmitted_segments", "data segments sent again in the measured time"),
        integer("rtos", "retransmission timeouts in the measured time"),
        integer("rtt_p50_ns", "median of the sender's round-trip times"),
        integer("rtt_p95_ns", "95th percentile of the same"),
        integer("rtt_p99_ns", "99th percentile of the same"),
        integer("segment_bytes", "application bytes of a full segment"),
        integer("longest_stall_ns", "longest time in which nothing was delivered"),
    ],
};

pub(super) const METRICS: Table = Table {
    index: 2,
    file: "metrics.parquet",
    about: "a run and metric that the run tells",
    columns: &[text("name", "a metric of the table below"), real("value", "its value in base units")],
};

pub(super) const COUNTERS: Table = Table {
    index: 3,
    file: "counters.parquet",
    about: "a run and counter",
    columns: &[
        text(
            "of",
            "who counts: `scheme`, `controller`, `control` (a flow's socket), `drops`, `header_drops` (of these, header packets of TCP Decoupling), `marks`",
        ),
        text("place", "the scheme, flow or link direction"),
        text("name", "the counter, the reason of a loss, or `ce`"),
        integer("count", "how many"),
    ],
};

pub(super) const SERIES: Table = Table {
    index: 4,
    file: "series.parquet",
    about: "a sample of something over time, in the first run of each cell; empty in scenarios of more than 1000 cells",
    columns: &[
        text("of", "what is sampled: `flow`, `link`, `scheme` or `level`; each fills its own columns"),
        text("name", "the flow, link direction, gateway of a scheme, or level"),
        integer("at_ns", "time since the start of the run"),
        integer("goodput_bps", "flow: application bits per second since the sample before"),
        integer("cwnd_bytes", "flow: congestion window"),
        integer("rtt_ns", "flow: smoothed round-trip time"),
        integer("repairs", "flow: repairs sent so far by all schemes"),
        integer("delivered_bytes", "flow: application bytes that arrived in order so far"),
        integer("acked_bytes", "flow: application bytes acknowledged to the sender so far"),
        integer(
            "rate_bps",
            "link: rate since the sample before; scheme: what it believes the link carries, 0 if unknown",
        ),
        integer("link_wait_ns", "scheme: how long it believes that packets wait in the link itself"),
        integer("queue_bytes", "scheme: bytes in its own queue"),
        integer("level", "level: its value, in the unit that its name ends with"),
    ],
};

const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, about, kind: Kind::Text }
}

const fn integer(name: &'static str, about: &'static str) -> Column {
    Column { name, about, kind: Kind::Integer }
}

const fn real(name: &'static str, about: &'static str) -> Column {
    Column { name, about, kind: Kind::Real }
}
