//! Figures over time: what is sampled, how often, and what a file can ask for.

use airtcp_experiment::figure::Figure;
use airtcp_experiment::results::series::Series;
use airtcp_experiment::results::summary::{self, Summary};
use airtcp_experiment::results::{RunOptions, run};
use airtcp_experiment::scenario::{Scenario, ScenarioError, Source};
use airtcp_experiment::{Catalogue, Simulator};

/// A slow start into a short queue, with and without a scheme.
const FILE: &str = r#"
schema = 1
name = "levels"
duration = "2s"
sample_every = "10ms"
runs = 2

[nodes]
a = {}
b = {}

[links.air]
between = ["a", "b"]
rate = "10Mbit"
delay = "20ms"
queue = "30kB"

[flows.bulk]
from = "a"
to = "b"
delayed_ack_segments = 1

[schemes.router]
kind = "fast-tcp"
on = "air"
watch = "link"

[vary]
cases.scheme = [{ label = "plain", schemes.router = { kind = "none" } }, { label = "Fast-TCP" }]

[[figures]]
name = "queue"
x = "time"
y = "links.air.forward.queue_bytes"
lines = "cases.scheme"

[[figures]]
name = "held"
x = "time"
y = "schemes.router.held_bytes"
lines = "cases.scheme"

[[figures]]
name = "acked"
x = "time"
y = "acked_bytes"
lines = "cases.scheme"
"#;

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let source = Source { file: "levels.toml".into(), text: text.into() };
    Scenario::read(&source, &[], &Catalogue::BUILT_IN, &mut |_| unreachable!("no base"))
}

#[test]
fn queues_levels_and_flows_are_drawn_as_they_were_sampled() {
    let scenario = read(FILE).unwrap();
    let results = run(&scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ());
    let (summary, series) = (Summary::of(&results, "results/levels/sim"), Series::of(&results));
    let figures: Vec<Figure> =
        scenario.figures.iter().map(|spec| Figure::of(&scenario, spec, &summary, &series)).collect();
    let highest = |figure: usize, line: usize| {
        figures[figure].panes[0].lines[line].points.iter().map(|point| point.y).fold(0.0, f64::max)
    };
    assert_eq!(figures[0].legend, ["plain", "Fast-TCP"]);
    assert_eq!(figures[0].panes[0].lines[0].points.len(), 200, "each 10 ms of 2 s");
    // Peaks between samples are seen: the highest sample is what the queue itself tells.
    for line in [0, 1] {
        assert_eq!(highest(0, line), summary.cells[line].readings.get("queue.bytes_max").unwrap().median);
    }
    assert_eq!(highest(1, 0), 0.0, "a cell without the scheme has nothing");
    assert!(highest(1, 1) > 0.0);
    let acked = &figures[2].panes[0].lines[0].points;
    assert!(acked.windows(2).all(|pair| pair[0].y <= pair[1].y && pair[0].x < pair[1].x));
    assert!(figures[2].source.contains("the first run each"), "{}", figures[2].source);
    let total = summary.cells[0].readings.get("sender.acked_bytes").unwrap().median;
    assert!((acked.last().unwrap().y / total - 1.0).abs() < 0.05);
}

#[test]
fn what_no_figure_over_time_asks_for_is_not_kept() {
    let file = &FILE[..FILE.find("[[figures]]").unwrap()];
    let scenario = read(file).unwrap();
    let results = run(&scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ());
    assert!(!summary::to_text(&Series::of(&results)).contains("levels"));
}

#[test]
fn a_level_that_nothing_has_is_refused_with_those_there_are() {
    let error = |from: &str, to: &str| read(&FILE.replacen(from, to, 1)).unwrap_err().to_string();
    let wrong = error("links.air.forward.queue_bytes", "links.air.forwards.queue_bytes");
    assert!(wrong.contains("no level over time 'links.air.forwards.queue_bytes'"), "{wrong}");
    assert!(error("y = \"acked_bytes\"", "y = \"jain\"").contains("no level over time 'jain'"));
    assert!(error("x = \"time\"", "x = \"tmie\"").contains("tmie"));
    assert!(error("\"10ms\"", "\"10us\"").contains("or more"));
}
