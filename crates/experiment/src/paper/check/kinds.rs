//! The kinds of checks, with their keys, for reading and help.

/// A kind of check, for reading and help.
#[derive(Clone, Copy, Debug)]
pub struct CheckKind {
    /// Value of `kind`.
    pub name: &'static str,
    /// Its decision rule.
    pub about: &'static str,
    /// Keys besides `kind`: key, example, meaning.
    pub keys: &'static [(&'static str, &'static str, &'static str)],
}

const EXPERIMENT: (&str, &str, &str) = ("experiment", "\"e1\"", "the experiment it is judged on; required");
const MEASURE: (&str, &str, &str) = ("measure", "\"goodput_bps\"", "what is compared (airtcp show metrics); required");
const AT: (&str, &str, &str) =
    ("at", "{ links.air.loss = { from = \"0.1%\", to = \"10%\" } }", "points to compare at; all if left out");
const POINTS: (&str, &str, &str) = ("points", "\"all\"", "all, or most: more than half; all if left out");
const OF: (&str, &str, &str) = ("of", "{ cases.scheme = \"G-Snoop\" }", "the line that is judged; required");
const OVER: (&str, &str, &str) = ("over", "{ cases.scheme = \"plain\" }", "the line it is compared with; required");
const OVER_MEASURE: (&str, &str, &str) =
    ("over_measure", "\"flows.other.goodput_bps\"", "what of `over` it is compared with; `measure` if left out");
const AT_LEAST: (&str, &str, &str) = ("at_least", "1.1", "lower end of the interval is at least this");
const AT_MOST: (&str, &str, &str) = ("at_most", "0.99", "upper end of the interval is at most this");
const BY_MEDIAN: (&str, &str, &str) =
    ("by_median", "true", "the median decides, not the whole interval; for a few long live runs");
const PRINTED: (&str, &str, &str) = (
    "printed",
    "1.208",
    "what the paper prints, a number or two ends: ours is put beside it; without bounds the check decides nothing",
);
const QUICK: (&str, &str, &str) = ("quick", "{ at_least = 1.05 }", "thresholds of reproduce --quick");
const ALONG: (&str, &str, &str) =
    ("along", "\"links.air.loss\"", "the axis that is followed, in the order of its steps; required");
const LINES: (&str, &str, &str) =
    ("lines", "[{ cases.scheme = \"a\" }, { cases.scheme = \"b\" }]", "the lines, two or more; required");

/// Every kind of check.
pub const KINDS: &[CheckKind] = &[
    CheckKind {
        name: "ratio",
        about: "One line over another, run by run: the interval reaches at_least and stays below at_most.",
        keys: &[EXPERIMENT, MEASURE, OF, OVER, OVER_MEASURE, AT, AT_LEAST, AT_MOST, PRINTED, BY_MEDIAN, POINTS, QUICK],
    },
    CheckKind {
        name: "difference",
        about: "One line less another, run by run, in the measure's unit: the interval reaches at_least and stays below at_most.",
        keys: &[EXPERIMENT, MEASURE, OF, OVER, OVER_MEASURE, AT, AT_LEAST, AT_MOST, PRINTED, BY_MEDIAN, POINTS, QUICK],
    },
    CheckKind {
        name: "ordering",
        about: "Each line is more than `by` times the next, with its whole interval.",
        keys: &[EXPERIMENT, MEASURE, LINES, AT, ("by", "1", "factor; 1 if left out"), POINTS, QUICK],
    },
    CheckKind {
        name: "monotone",
        about: "Along an axis, no step's interval turns back by more than the tolerance, and the end is beyond the beginning with its whole interval.",
        keys: &[
            EXPERIMENT,
            MEASURE,
            OF,
            ALONG,
            ("direction", "\"decreasing\"", "increasing or decreasing; required"),
            ("tolerance", "0.02", "share by which a step may turn back; 0 if left out"),
            AT,
            POINTS,
            QUICK,
        ],
    },
    CheckKind {
        name: "within",
        about: "The measure itself: both ends of its interval are within the bounds.",
        keys: &[EXPERIMENT, MEASURE, OF, AT, AT_LEAST, AT_MOST, PRINTED, BY_MEDIAN, POINTS, QUICK],
    },
    CheckKind {
        name: "crossover",
        about: "Two lines cross within an interval: up to its beginning one is higher, from its end on the other, each with the whole confidence interval.",
        keys: &[
            EXPERIMENT,
            MEASURE,
            OF,
            OVER,
            ALONG,
            ("starts", "\"above\"", "where `of` is before the crossing, above or below; required"),
            ("between", "[\"0.1%\", \"1%\"]", "the interval on the axis; required"),
            AT,
            POINTS,
            QUICK,
        ],
    },
    CheckKind {
        name: "diminishing",
        about: "From line to line, the first step gains and each further step gains less, with their whole intervals.",
        keys: &[EXPERIMENT, MEASURE, LINES, AT, POINTS],
    },
    CheckKind {
        name: "agreement",
        about: "What `of` gains over `over` is the same in two experiments, such as live and simulated: the gains differ by at most `apart`, in the medians.",
        keys: &[
            EXPERIMENT,
            MEASURE,
            OF,
            OVER,
            ("beside", "\"simulated\"", "the other experiment, with the same lines; required"),
            ("apart", "0.1", "largest difference of the two gains, as a share of `over`; required"),
            AT,
            POINTS,
            QUICK,
        ],
    },
    CheckKind {
        name: "analytic",
        about: "A formula of the table, computed from its inputs, is within the bounds.",
        keys: &[
            ("formula", "\"bandwidth_delay_packets\"", "name of the formula; required"),
            ("inputs", "{ rate = \"10Mbit\", time = \"10ms\", packet = \"512B\" }", "its inputs; required"),
            AT_LEAST,
            AT_MOST,
            PRINTED,
        ],
    },
    CheckKind {
        name: "test",
        about: "Named tests of the repository show it; they are run where the source tree and cargo are there.",
        keys: &[
            ("package", "\"airtcp-schemes\"", "the crate the tests are in; required"),
            ("tests", "[\"gsn_c8_the_worked_example\"]", "their names; required"),
        ],
    },
];
