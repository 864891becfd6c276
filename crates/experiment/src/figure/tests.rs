//! Figures from summaries made of known numbers.

use super::*;
use crate::Catalogue;
use crate::results::summary::at_of;
use crate::scenario::Source;
use serde_json::json;

const SCENARIO: &str = r#"
schema = 1
name = "drawn"
duration = "3s"
runs = 3

[nodes]
a = {}
b = {}

[links.air]
between = ["a", "b"]
rate = "10Mbit"

[flows.bulk]
from = "a"
to = "b"

[schemes.repair]
kind = "none"

[vary]
links.air.loss = { log = ["0.1%", "10%"], steps = 3 }
flows.bulk.controller = ["cubic", "reno"]
schemes.repair = [{ kind = "none" }, { kind = "gsnoop", on = "air", label = "<g> & \"s\"" }]

[[figures]]
name = "drawn"
x = "links.air.loss"
y = "of_ceiling"
lines = "schemes.repair"
panes = "flows.bulk.controller"
"#;

fn read(text: &str, sets: &[&str]) -> Scenario {
    let source = Source { file: "drawn.toml".into(), text: text.into() };
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::read(&source, &sets, &Catalogue::BUILT_IN, &mut |_| unreachable!("no base")).expect("valid")
}

/// A summary whose share of the ceiling is 0.1 for the first cell, 0.11 for the next and so on.
fn summary(scenario: &Scenario) -> Summary {
    let cell = |(index, cell): (usize, &crate::Cell)| {
        let share = 0.1 + 0.01 * index as f64;
        json!({"world": "simulator", "at": at_of(cell), "of_ceiling": {"median": share, "ci95": [share - 0.05, share + 0.05]}})
    };
    let cells: Vec<_> = scenario.cells.iter().enumerate().map(cell).collect();
    serde_json::from_value(json!({"cells": cells})).expect("a summary")
}

fn drawn(scenario: &Scenario, summary: &Summary) -> Figure {
    Figure::of(scenario, &scenario.figures[0], summary, &Series::default())
}

#[test]
fn every_cell_is_a_point_of_its_line_in_its_pane() {
    let scenario = read(SCENARIO, &[]);
    let figure = drawn(&scenario, &summary(&scenario));
    assert_eq!(figure.legend, ["plain", "<g> & \"s\""]);
    assert_eq!(figure.panes.iter().map(|pane| pane.label.as_str()).collect::<Vec<_>>(), ["cubic", "reno"]);
    let line = &figure.panes[1].lines[1];
    assert_eq!((line.label.as_str(), line.index), ("<g> & \"s\"", 1));
    let points: Vec<_> =
        line.points.iter().map(|point| (point.label.as_str(), point.x, (point.y * 100.0).round())).collect();
    assert_eq!(points, [("0.1%", Some(0.1), 13.0), ("1%", Some(1.0), 17.0), ("10%", Some(10.0), 21.0)]);
    let [low, high] = line.points[0].ci95.expect("the summary has one");
    assert!((low - 0.08).abs() < 1e-9 && (high - 0.18).abs() < 1e-9, "{low} {high}");
    assert_eq!((figure.x.scale, figure.x.unit.as_str()), (Scale::Logarithmic, "%"));
}

#[test]
fn cells_that_did_not_run_leave_no_empty_pane_or_legend_entry() {
    let scenario = read(SCENARIO, &[]);
    let mut summary = summary(&scenario);
    summary.cells.retain(|cell| cell.at["flows.bulk.controller"] == "reno" && cell.at["schemes.repair"] != "none");
    let figure = drawn(&scenario, &summary);
    assert_eq!((figure.panes.len(), figure.legend.len()), (1, 1));
    assert_eq!(figure.panes[0].lines[0].points.len(), 3);
}

#[test]
fn lines_run_from_left_to_right_whatever_the_order_of_the_file() {
    let text = SCENARIO.replacen("{ log = [\"0.1%\", \"10%\"], steps = 3 }", "[\"10%\", \"0%\", \"2%\"]", 1);
    let scenario = read(&text, &[]);
    let figure = drawn(&scenario, &summary(&scenario));
    let numbers: Vec<_> = figure.panes[0].lines[0].points.iter().map(|point| point.x).collect();
    assert_eq!(numbers, [Some(0.0), Some(2.0), Some(10.0)]);
    assert_eq!(figure.x.scale, Scale::Linear);
}

#[test]
fn a_key_that_was_fixed_keeps_its_value_on_the_axis() {
    let scenario = read(SCENARIO, &["links.air.loss=3%", "flows.bulk.controller=cubic"]);
    let figure = drawn(&scenario, &summary(&scenario));
    assert_eq!((figure.panes.len(), figure.panes[0].label.as_str()), (1, ""));
    let point = &figure.panes[0].lines[0].points[0];
    assert_eq!((point.label.as_str(), point.x), ("3%", Some(3.0)));
}

#[test]
fn the_csv_has_a_row_per_point_with_labels_numbers_and_units() {
    let scenario = read(SCENARIO, &[]);
    let text = csv::text(&drawn(&scenario, &summary(&scenario)));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 12);
    assert_eq!(lines[0], "flows.bulk.controller,schemes.repair,links.air.loss,x,x_unit,of_ceiling,ci95_low,ci95_high");
    assert_eq!(lines[1], "cubic,plain,0.1%,0.1,%,0.1,0.05,0.15000000000000002");
    assert!(lines[4].starts_with("cubic,\"<g> & \"\"s\"\"\",0.1%,0.1,%,0.11,"), "{}", lines[4]);
}

/// The same scenario with goodput over a ping, all losses as points of a line, and the ping's runs as `pings`.
fn scattered(pings: &[f64]) -> (Scenario, Summary) {
    let probe = "[probes.ping]\nfrom = \"a\"\nto = \"b\"\n\n[vary]";
    let text = SCENARIO.replacen("[vary]", probe, 1).replacen("links.air.loss\"\ny", "probes.ping.rtt_ns.p95\"\ny", 1);
    let scenario = read(&text, &[]);
    let mut summary = serde_json::to_value(summary(&scenario)).unwrap();
    for (index, cell) in summary["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
        let median = 20e6 + 1e6 * index as f64;
        cell["of_ceiling"]["runs"] = json!([0.1, 0.2, 0.3]);
        cell["probes"] = json!([{"name": "ping", "rtt_ns": {"p95": {"median": median, "runs": pings}}}]);
    }
    (scenario, serde_json::from_value(summary).unwrap())
}

#[test]
fn of_one_measure_over_another_each_cell_is_a_point_with_an_ellipse() {
    let (scenario, summary) = scattered(&[19e6, 20e6, 24e6]);
    let wanted = scenario.figures[0].measures_of_runs().collect::<Vec<_>>();
    assert_eq!(wanted, ["probes.ping.rtt_ns.p95", "of_ceiling"]);
    let figure = drawn(&scenario, &summary);
    assert_eq!((figure.x.unit.as_str(), figure.x.scale, figure.x.steps.len()), ("ms", Scale::Linear, 12));
    let points = &figure.panes[1].lines[1].points;
    let told: Vec<_> =
        points.iter().map(|point| (point.cell.as_str(), point.label.as_str(), point.x, point.step)).collect();
    let found = [("0.1%", "23.0", Some(23.0), 3), ("1%", "27.0", Some(27.0), 7), ("10%", "31.0", Some(31.0), 11)];
    assert_eq!(told, found);
    let spread = points[0].spread.expect("three runs");
    assert!((spread.mean[0] - 21.0).abs() < 1e-9 && (spread.mean[1] - 0.2).abs() < 1e-9, "{spread:?}");
    assert!(spread.correlation > 0.9, "{spread:?}");

    let text = csv::text(&figure);
    let head = "flows.bulk.controller,schemes.repair,cell,probes.ping.rtt_ns.p95,x_unit,of_ceiling,ci95_low,ci95_high,x_mean,y_mean,x_deviation,y_deviation,correlation";
    assert_eq!(text.lines().next(), Some(head));
    assert!(text.lines().nth(1).unwrap().starts_with("cubic,plain,0.1%,20,ms,0.1,0.05,"), "{text}");
    let svg = svg::text(&figure);
    assert_eq!(svg.matches("fill-opacity=").count(), 12, "an ellipse each");
    assert!(!svg.contains("NaN") && svg.contains("ellipses: one standard deviation"), "{svg}");
}

#[test]
fn two_runs_are_points_without_ellipses_and_without_lines_between_them() {
    let (scenario, summary) = scattered(&[19e6, 20e6]);
    let figure = drawn(&scenario, &summary);
    assert!(figure.panes[0].lines[0].points.iter().all(|point| point.spread.is_none()));
    let svg = svg::text(&figure);
    assert_eq!(svg.matches("fill-opacity=").count(), 0);
    let joined = |line: &str| line.starts_with("<path d=\"M") && line.matches('L').count() > 0;
    assert!(!svg.lines().any(joined), "{svg}");
}

#[test]
fn the_svg_holds_every_point_and_interval_and_no_markup_of_the_file() {
    let scenario = read(SCENARIO, &[]);
    let figure = drawn(&scenario, &summary(&scenario));
    let text = svg::text(&figure);
    assert_eq!(text, svg::text(&figure), "equal figures, equal bytes");
    // Of each line three points in two panes and its sample in the legend.
    assert_eq!((text.matches("<circle").count(), text.matches("width=\"6\"").count()), (7, 7));
    assert_eq!(text.matches("h6M").count(), 12, "a whisker per cell");
    assert!(text.contains("&lt;g&gt; &amp; &quot;s&quot;") && !text.contains("<g> &"), "{text}");
    let without_namespace = text.replacen("http://www.w3.org/2000/svg", "", 1);
    assert!(!without_namespace.contains("http") && !text.contains("NaN") && !text.contains("inf"));
}

#[test]
fn control_characters_in_a_label_leave_the_svg_well_formed() {
    let scenario = read(&SCENARIO.replacen("<g>", "\\u0007", 1), &[]);
    let text = svg::text(&drawn(&scenario, &summary(&scenario)));
    assert!(!text.contains('\u{7}') && text.contains('\u{fffd}'));
}

#[test]
fn a_figure_of_nothing_says_so() {
    let scenario = read(SCENARIO, &[]);
    let figure = drawn(&scenario, &Summary::default());
    assert_eq!(figure.panes, []);
    let text = svg::text(&figure);
    assert!(text.contains("No cell of this figure") && !text.contains("NaN"), "{text}");
}

#[test]
fn words_on_the_axis_stand_side_by_side_without_a_line_between_them() {
    let text = SCENARIO.replacen("x = \"links.air.loss\"", "x = \"flows.bulk.controller\"", 1);
    let text = text.replacen("panes = \"flows.bulk.controller\"", "panes = \"links.air.loss\"", 1);
    let scenario = read(&text, &[]);
    let figure = drawn(&scenario, &summary(&scenario));
    assert_eq!((figure.x.scale, figure.panes.len()), (Scale::Categories, 3));
    let text = svg::text(&figure);
    let mut paths = text.lines().filter(|line| line.starts_with("<path"));
    assert!(paths.all(|path| !path.contains('L')), "a path leads from word to word: {text}");
}

/// A formula is drawn behind the lines of cells, with the varied key's value in base units.
#[test]
fn a_curve_is_a_formula_over_the_varied_key() {
    let curve =
        "curves = [{ label = \"model\", formula = \"decoupling_per\", inputs = { ber = \"x\", packet = \"100B\" } }]";
    let scenario = read(&format!("{SCENARIO}{curve}"), &[]);
    let figure = drawn(&scenario, &summary(&scenario));
    assert_eq!(figure.legend.last().map(String::as_str), Some("model"));
    for pane in &figure.panes {
        let line = pane.lines.last().unwrap();
        assert_eq!((line.label.as_str(), line.index), ("model", 2));
        let of: Vec<(Option<f64>, f64)> =
            line.points.iter().map(|point| (point.x, (point.y * 1e3).round() / 1e3)).collect();
        assert_eq!(of, [(Some(0.1), 0.8), (Some(1.0), 8.0), (Some(10.0), 80.0)], "x in percent");
    }
    assert!(svg::text(&figure).contains("model") && csv::text(&figure).contains("model,10%,10,%,80,,"));
}

/// Markers without a line, in their pane, on the axis of ours; what lies beside the axis is left out.
#[test]
fn what_a_paper_prints_stands_beside_our_lines() {
    let points =
        "points = [{ label = \"paper\", pane = \"reno\", points = [[\"1%\", 0.5], [\"5%\", 0.25], [\"40%\", 9]] }]";
    let scenario = read(&format!("{SCENARIO}{points}"), &[]);
    let figure = drawn(&scenario, &summary(&scenario));
    assert_eq!(figure.legend, ["plain", "<g> & \"s\"", "paper"]);
    assert!(figure.panes[0].lines.iter().all(|line| !line.is_printed));
    let line = figure.panes[1].lines.last().unwrap();
    let of: Vec<_> = line.points.iter().map(|point| (point.x, point.y)).collect();
    assert_eq!((line.index, line.is_printed, of), (2, true, vec![(Some(1.0), 0.5), (Some(5.0), 0.25)]));
    let drawn = svg::text(&figure);
    let without = svg::text(&super::tests::drawn(&read(SCENARIO, &[]), &summary(&scenario)));
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("<path d=\"M") && line.contains('L')).count();
    assert_eq!(lines(&drawn), lines(&without), "no line leads from one to the other");
    assert_eq!(drawn.matches("l3.8 6.4").count(), 2 + 1, "and a sample in the legend");
    assert!(csv::text(&figure).contains("reno,paper,5%,5,%,0.25,,"));
}

#[test]
fn printed_points_that_are_none_are_an_error() {
    let source =
        Source { file: "drawn.toml".into(), text: format!("{SCENARIO}points = [{{ label = \"p\", points = [[1]] }}]") };
    let error = Scenario::read(&source, &[], &Catalogue::BUILT_IN, &mut |_| unreachable!("no base")).unwrap_err();
    assert!(error.to_string().contains("a step or number, and the measure"), "{error}");
}

#[test]
fn a_curve_that_cannot_be_drawn_is_an_error_that_says_why() {
    let error = |text: &str| {
        let source = Source { file: "drawn.toml".into(), text: format!("{SCENARIO}{text}") };
        Scenario::read(&source, &[], &Catalogue::BUILT_IN, &mut |_| unreachable!("no base")).unwrap_err().to_string()
    };
    let curve = |formula: &str, packet: &str| {
        error(&format!(
            "curves = [{{ label = \"m\", formula = \"{formula}\", inputs = {{ ber = \"x\", packet = \"{packet}\" }} }}]"
        ))
    };
    assert!(curve("decoupling_pre", "1B").contains("did you mean 'decoupling_per'?"));
    assert!(curve("decoupling_per", "much").contains("'much' is not a number"));
    assert!(error("curves = [{ formula = \"decoupling_per\" }]").contains("label"));
}

/// Over time, levels of one unit are a line each, in every pane: a link's rate beside what a box believes.
#[test]
fn several_levels_over_time_are_a_line_each() {
    let figure = "[[figures]]\nname = \"rates\"\nx = \"time\"\ny = [\"links.air.forward.rate_bps\", \"schemes.repair.a.rate_bps\"]\npanes = \"flows.bulk.controller\"";
    let text = format!("{}{figure}", &SCENARIO[..SCENARIO.find("[[figures]]").unwrap()]);
    let fixed = ["vary.links.air.loss=[\"1%\"]", "vary.schemes.repair=[{ kind = \"none\" }]"];
    let scenario = read(&text, &fixed);
    let cell = |(index, cell): (u64, &crate::Cell)| {
        let rate = 10_000_000 * (index + 1);
        let box_at = |node: &str, rate: u64| json!({"name": format!("schemes.repair.{node}"), "at_ms": [200], "rate_bps": [rate]});
        json!({
            "at": at_of(cell),
            "flows": [],
            "schemes": [box_at("b", 7), box_at("a", rate / 2)],
            "levels": {"links.air.forward.rate_bps": [[100_000_000, rate], [200_000_000, rate]]},
        })
    };
    let cells: Vec<_> = (0..).zip(&scenario.cells).map(cell).collect();
    let series: Series = serde_json::from_value(json!({ "cells": cells })).expect("a series");
    let figure = Figure::of(&scenario, &scenario.figures[0], &summary(&scenario), &series);
    assert_eq!(figure.legend, ["rate of air forward", "rate of repair a"]);
    assert_eq!((figure.y.title.as_str(), figure.y.unit.label()), ("rate of air forward, rate of repair a", "Mbit/s"));
    let points = |line: &Line| line.points.iter().map(|point| (point.x.unwrap(), point.y)).collect::<Vec<_>>();
    assert_eq!(figure.panes.len(), 2);
    assert_eq!(points(&figure.panes[1].lines[0]), [(0.1, 2e7), (0.2, 2e7)]);
    assert_eq!(points(&figure.panes[1].lines[1]), [(0.2, 1e7)]);
    let rows = csv::text(&figure);
    assert!(rows.starts_with("flows.bulk.controller,level,time,x,x_unit,value,"), "{rows}");
    assert!(rows.contains("reno,rate of repair a,0.2,0.2,s,10000000,,"), "{rows}");
    assert!(svg::text(&figure).contains(">rate of repair a<"));
}

#[test]
fn several_levels_that_make_no_lines_are_an_error_that_says_why() {
    let error = |figure: &str| {
        let text = format!("{SCENARIO}[[figures]]\nname = \"two\"\n{figure}");
        let source = Source { file: "drawn.toml".into(), text };
        let sets = ["vary.links.air.loss=[\"1%\"]".to_owned(), "vary.schemes.repair=[{ kind = \"none\" }]".to_owned()];
        Scenario::read(&source, &sets, &Catalogue::BUILT_IN, &mut |_| unreachable!("no base")).unwrap_err().to_string()
    };
    let over_time = |y: &str, rest: &str| error(&format!("x = \"time\"\ny = {y}\n{rest}"));
    let rates = "[\"links.air.forward.rate_bps\", \"schemes.repair.a.rate_bps\"]";
    assert!(over_time(rates, "lines = \"flows.bulk.controller\"").contains("without 'lines'"));
    assert!(
        over_time("[\"goodput_bps\", \"cwnd_bytes\"]", "")
            .contains("'goodput_bps' and 'cwnd_bytes' have different units")
    );
    assert!(over_time("[]", "").contains("names nothing that goes upwards"));
    assert!(over_time("[\"goodput_bps\", \"godput_bps\"]", "").contains("no level over time 'godput_bps'"));
    let measures = "x = \"links.air.loss\"\ny = [\"goodput_bps\", \"of_ceiling\"]\nlines = \"flows.bulk.controller\"";
    assert!(error(measures).contains("a line each over time"));
}
