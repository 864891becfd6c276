//! Figures over time: what is sampled, how often, and what a file can ask for.

use airtcp_experiment::figure::Figure;
use airtcp_experiment::results::series::{Columns, Series};
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
fn what_gateways_believe_stands_beside_what_the_link_had() {
    let file = FILE[..FILE.find("[[figures]]").unwrap()].replace("\"10Mbit\"", "[\"10Mbit\", \"4Mbit from 1s\"]");
    let file = file.replace("kind = \"fast-tcp\"", "kind = \"gsnoop\"").replace("watch = \"link\"", "");
    let figure = "[[figures]]\nname = \"rates\"\nx = \"time\"\ny = [\"links.air.forward.rate_bps\", \"schemes.router.a.rate_bps\"]\npanes = \"cases.scheme\"";
    let scenario = read(&format!("{file}{figure}")).unwrap();
    let results = run(&scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ());
    assert!(results.failures().is_empty());
    let text = summary::to_text(&Series::of(&results));
    let series: Series = serde_json::from_str(&text).unwrap();
    let names = |all: &[Columns]| all.iter().map(|columns| columns.name.clone()).collect::<Vec<_>>();
    for cell in &series.cells {
        assert_eq!(names(&cell.links), ["links.air.forward", "links.air.reverse"]);
        let rate = |at: usize| cell.links[0].column("rate_bps")[at];
        assert_eq!((cell.links[0].column("at_ms")[99], rate(99), rate(100)), (1000, 10_000_000, 4_000_000));
    }
    let [plain, gateways] = &series.cells[..] else { panic!("two cells") };
    assert_eq!(
        (names(&plain.schemes), names(&gateways.schemes)),
        (vec![], vec!["schemes.router.a".into(), "schemes.router.b".into()])
    );
    let near = &gateways.schemes[0];
    assert_eq!(near.columns.keys().collect::<Vec<_>>(), ["at_ms", "rate_bps", "link_wait_us", "queue_bytes"]);
    assert!(near.columns.values().all(|column| column.len() == 200), "each 10 ms of 2 s");
    assert!(near.column("rate_bps")[199].abs_diff(4_000_000) < 600_000, "{}", near.column("rate_bps")[199]);
    let figure = Figure::of(&scenario, &scenario.figures[0], &Summary::of(&results, "results/levels/sim"), &series);
    let drawn = |pane: usize, line: usize| figure.panes[pane].lines[line].points.iter().map(|point| point.y as u64);
    assert_eq!(figure.panes[0].lines.len(), 1, "nobody believes anything without gateways");
    assert_eq!(drawn(1, 0).collect::<Vec<_>>(), gateways.links[0].column("rate_bps"));
    assert_eq!(drawn(1, 1).collect::<Vec<_>>(), near.column("rate_bps"), "one box, not the sum of both");
    for runs in (0..2).map(|cell| results.outcomes(cell).unwrap()) {
        assert!(runs[1].link_rates.is_empty() && runs[1].beliefs.is_empty(), "one run of each cell is drawn");
    }
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
