//! The HTML report as a browser shows it: figures are drawn, nothing complains, nothing is fetched.

use crate::browser;
use crate::browser::Browser;
use crate::common::{DEMO, Scratch, made_up, read, read_with, skip};
use airtcp_experiment::figure::Figure;
use airtcp_experiment::html::{self, Stored, StoredWorld};
use airtcp_experiment::results::series::Series;
use airtcp_experiment::results::summary::Summary;
use airtcp_experiment::results::{self, RunOptions};
use airtcp_experiment::{Catalogue, Scenario, Simulator};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;

/// What is wrong with a page as it looks now, as sentences.
const LOOK: &str = include_str!("browser/look.js");
/// Asks of every number of the first table, scrolled to, whether it is what a reader sees at its place.
const HIDDEN_NUMBERS: &str = "[...document.querySelector('table.numbers').querySelectorAll('td')].filter((cell) => {
    cell.scrollIntoView({ block: 'center', inline: 'end' });
    const box = cell.getBoundingClientRect();
    return !cell.contains(document.elementFromPoint(box.right - 14, box.top + box.height / 2));
}).map((cell) => cell.textContent)";

/// Longest report of the demo with two figures.
const MOST_BYTES: usize = 500_000;

/// Height of a window.
const HEIGHT: u32 = 900;

const FIGURES: &str = "
[[figures]]
name = \"ceiling\"
x = \"links.air.loss\"
y = \"of_ceiling\"
lines = \"schemes.repair.kind\"
panes = \"flows.bulk.controller\"

[[figures]]
name = \"resent\"
x = \"links.air.loss\"
y = \"sender.retransmitted_segments\"
lines = \"flows.bulk.controller\"
panes = \"schemes.repair.kind\"
";

fn scenario(sets: &[&str]) -> Scenario {
    read(&format!("{DEMO}{FIGURES}"), &[&["runs=3"], sets].concat()).unwrap()
}

fn stored(scenario: &Scenario) -> Stored<'static> {
    let results = made_up(scenario);
    let (summary, series) = (Summary::of(&results, "results/demo/live"), Series::of(&results));
    let manifest = json!({"version": "0.1.0", "machine": {"kernel": "Linux 6"}});
    let world = StoredWorld { name: "live".into(), summary, series, manifest };
    Stored { directory: "results/demo".into(), scenario: Cow::Owned(scenario.clone()), worlds: vec![Cow::Owned(world)] }
}

/// Lines and points of a figure, all panes together.
fn drawn(stored: &Stored<'_>, index: usize) -> (usize, usize) {
    let figure = Figure::of(
        &stored.scenario,
        &stored.scenario.figures[index],
        &stored.worlds[0].summary,
        &stored.worlds[0].series,
    );
    let lines = figure.panes.iter().flat_map(|pane| &pane.lines);
    lines.fold((0, 0), |(lines, points), line| (lines + 1, points + line.points.len()))
}

/// A report in a browser; `None`, and said so, where there is no browser.
struct Shown {
    browser: Browser,
    page: PathBuf,
    _directory: Scratch,
}

fn show(test: &str, html: &str) -> Option<Shown> {
    let Some(program) = browser::find() else {
        skip("no Chromium is installed");
        return None;
    };
    let directory = Scratch::new(&format!("report-{test}"));
    let page = directory.path().join("report.html");
    std::fs::write(&page, html).unwrap();
    let mut browser = Browser::start(&program, test);
    browser.open(&page);
    Some(Shown { browser, page, _directory: directory })
}

impl Shown {
    fn count(&mut self, selector: &str) -> u64 {
        self.browser.value(&format!("document.querySelectorAll('{selector}').length")).as_u64().unwrap()
    }

    /// The window of a reader: its width, and `light` or `dark`.
    fn look_as(&mut self, width: u32, scheme: &str) {
        let window = json!({"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false});
        self.browser.call("Emulation.setDeviceMetricsOverride", window);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.browser.call("Emulation.setEmulatedMedia", json!({"features": features}));
        self.browser.value(&format!(
            "new Promise((done) => {{
                const look = () => {{
                    if (innerWidth !== {width} || !matchMedia('(prefers-color-scheme: {scheme})').matches) return requestAnimationFrame(look);
                    // Figures are drawn again before the frame that follows: however late the browser tells of the window, they are then.
                    dispatchEvent(new Event('resize'));
                    requestAnimationFrame(() => requestAnimationFrame(done));
                }};
                look();
            }})"
        ));
    }

    fn text(&mut self, expression: &str) -> String {
        self.browser.value(expression).as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn every_line_and_point_of_a_figure_is_drawn() {
    let stored = stored(&scenario(&[]));
    let Some(mut shown) =
        show("every_line_and_point_of_a_figure_is_drawn", &html::render(std::slice::from_ref(&stored)))
    else {
        return;
    };
    assert_eq!(shown.count(".sweep"), 2);
    let mut total = (0, 0);
    for index in 0..2 {
        let (lines, points) = drawn(&stored, index);
        total = (total.0 + lines as u64, total.1 + points as u64);
    }
    assert!(total.1 > 20);
    assert_eq!((shown.count(".sweep-panes path.curve"), shown.count(".sweep-panes path.mark")), total);
    let broken = "[...document.querySelectorAll('svg path, svg line')].filter((node) => /NaN|undefined|Infinity/.test(node.outerHTML)).length";
    assert_eq!(shown.browser.value(broken), 0);
    let flat =
        "[...document.querySelectorAll('.sweep-panes path.curve')].filter((node) => node.getBBox().width < 100).length";
    assert_eq!(shown.browser.value(flat), 0, "a line has a width");
}

#[test]
fn what_happened_over_time_is_drawn_for_every_cell() {
    let stored = stored(&scenario(&[]));
    let cells = stored.worlds[0].series.cells.len() as u64;
    let Some(mut shown) = show("what_happened_over_time_is_drawn_for_every_cell", &html::render(&[stored])) else {
        return;
    };
    assert_eq!(shown.count(".cards figure:first-child path.curve"), cells, "one goodput line per cell");
}

#[test]
fn what_a_gateway_believes_is_drawn_beside_the_rate_of_its_link() {
    let sets = ["runs=1", "duration=6s", "links.air.loss=1%", "flows.bulk.controller=cubic"];
    let sets = [&sets[..], &["links.air.rate=10Mbit, 4Mbit from 3s"]].concat();
    let scenario = read_with(DEMO, &sets, &Catalogue::BUILT_IN).unwrap();
    let results = results::run(&scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ());
    let (summary, series) = (Summary::of(&results, "results/demo/sim"), Series::of(&results));
    let world = StoredWorld { name: "simulator".into(), summary, series, manifest: json!({}) };
    let stored = Stored {
        directory: "results/demo".into(),
        scenario: Cow::Owned(scenario.clone()),
        worlds: vec![Cow::Owned(world)],
    };
    let html = html::render(&[stored]);
    assert!(html.contains("solid what the gateway before it believed"));
    let Some(mut shown) = show("what_a_gateway_believes_is_drawn_beside_the_rate_of_its_link", &html) else { return };
    assert_eq!(shown.count(".cards .wide path.goodput"), 1, "the flow goes one way");
    assert_eq!(shown.count(".cards .wide path.real"), shown.count(".cards .wide"), "one rate for all schemes");
    let caption = shown.text("document.querySelector('.cards .wide figcaption').textContent");
    assert!(caption.contains("links.air.forward"), "{caption}");
    let wide = "document.querySelector('.cards .wide svg').getBoundingClientRect().width";
    let narrow = "document.querySelector('.cards svg').getBoundingClientRect().width";
    assert_eq!(shown.browser.value(&format!("{wide} > 1.8 * {narrow}")), true);
    shown.browser.value("document.querySelector('.cards .wide svg').focus()");
    shown.browser.press("End");
    let told = shown.text("document.querySelector('.cards .wide .tip').textContent");
    assert!(told.contains("link 4") && told.contains("a believes"), "{told}");
    assert_eq!(shown.browser.complaints(), [""; 0]);
}

#[test]
fn the_page_complains_of_nothing_fetches_nothing_and_is_small() {
    let (one, two) = (stored(&scenario(&[])), stored(&scenario(&["links.air.delay=20ms"])));
    let page = html::render(&[one, two]);
    println!("the report of two results has {} bytes", page.len());
    assert!(page.len() < 2 * MOST_BYTES, "{} bytes", page.len());
    let Some(shown) = show("the_page_complains_of_nothing_fetches_nothing_and_is_small", &page) else { return };
    assert_eq!(shown.browser.complaints(), [""; 0]);
    assert_eq!(shown.browser.requests(), [format!("file://{}", shown.page.display())]);
}

#[test]
fn a_complaint_and_a_fetch_would_be_noticed() {
    let page = "<!doctype html><img src='http://127.0.0.1:9/x.png'><script>console.error('seen'); throw new Error('thrown')</script>";
    let Some(mut shown) = show("a_complaint_and_a_fetch_would_be_noticed", page) else { return };
    shown.browser.value("new Promise((done) => setTimeout(done, 300))");
    let complaints = shown.browser.complaints().join("\n");
    assert!(complaints.contains("seen") && complaints.contains("thrown"), "{complaints}");
    assert!(shown.browser.requests().contains(&"http://127.0.0.1:9/x.png".to_owned()));
}

#[test]
fn values_can_be_read_and_lines_switched_off_without_a_mouse() {
    let stored = stored(&scenario(&[]));
    let Some(mut shown) =
        show("values_can_be_read_and_lines_switched_off_without_a_mouse", &html::render(std::slice::from_ref(&stored)))
    else {
        return;
    };
    shown.browser.value("document.querySelector('.sweep-panes svg').focus()");
    shown.browser.press("End");
    shown.browser.press("ArrowLeft");
    let tip = shown.text("document.querySelector('.sweep-panes .tip').innerText");
    // Made up for 5 %: 9.1 of 9.17 Mbit/s with, 0.19 without a scheme.
    assert!(
        tip.contains("5%") && tip.contains("gsnoop: 99.2 % (99.2 to 99.3)") && tip.contains("plain: 2.1 %"),
        "{tip}"
    );
    let before = shown.count(".sweep-panes path.curve");
    shown.browser.value("document.querySelector('.legend button').focus()");
    shown
        .browser
        .call("Input.dispatchKeyEvent", json!({"type": "keyDown", "key": "Enter", "code": "Enter", "text": "\r"}));
    shown.browser.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": "Enter", "code": "Enter"}));
    assert_eq!(shown.text("document.querySelector('.legend button').getAttribute('aria-pressed')"), "false");
    assert_eq!(shown.count(".sweep-panes path.curve"), before - 2, "one line in each of two panes");
}

#[test]
fn an_axis_can_be_logarithmic_or_linear() {
    let Some(mut shown) = show("an_axis_can_be_logarithmic_or_linear", &html::render(&[stored(&scenario(&[]))])) else {
        return;
    };
    let heights = "[...document.querySelectorAll('.sweep-panes svg:first-of-type path.mark')].map((node) => Math.round(node.getBBox().y))";
    let linear = shown.browser.value(heights);
    let choose = "const choice = document.querySelector('.scales label:last-child select'); choice.value = 'log'; choice.dispatchEvent(new Event('change'))";
    shown.browser.value(choose);
    let logarithmic = shown.browser.value(heights);
    assert_ne!(linear, logarithmic);
    assert_eq!(linear.as_array().map(Vec::len), logarithmic.as_array().map(Vec::len), "every value is above zero");
}

#[test]
fn the_page_is_dark_where_the_reader_asks_for_it_and_can_be_printed() {
    let Some(mut shown) = show(
        "the_page_is_dark_where_the_reader_asks_for_it_and_can_be_printed",
        &html::render(&[stored(&scenario(&[]))]),
    ) else {
        return;
    };
    let mut brightness = |scheme: &str| {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        shown.browser.call("Emulation.setEmulatedMedia", json!({"features": features}));
        let colour = shown
            .browser
            .value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)");
        colour.as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>()
    };
    assert!(brightness("light") > 700 && brightness("dark") < 120);
    let pdf = shown.browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(pdf["data"].as_str().is_some_and(|data| data.len() > 20_000), "the figures are on paper too");
}

#[test]
fn results_side_by_side_share_figures_and_choose_a_measure() {
    let (one, two) = (stored(&scenario(&[])), stored(&scenario(&["links.air.delay=20ms"])));
    let (lines, points) = (0..2).fold((0, 0), |sum, index| {
        let (lines, points) = drawn(&one, index);
        (sum.0 + 2 * lines as u64, sum.1 + 2 * points as u64)
    });
    let Some(mut shown) = show("results_side_by_side_share_figures_and_choose_a_measure", &html::render(&[one, two]))
    else {
        return;
    };
    assert_eq!(shown.count(".sweep"), 2, "figures of both are drawn once, over each other");
    assert_eq!((shown.count(".sweep-panes path.curve"), shown.count(".sweep-panes path.mark")), (lines, points));
    assert_eq!((shown.count(".measure"), shown.count(".measure[hidden]")), (5, 4));
    shown.browser.value("const choice = document.querySelector('.measures select'); choice.value = '2'; choice.dispatchEvent(new Event('change'))");
    assert_eq!(shown.text("document.querySelector('.measure:not([hidden])').dataset.title"), "× plain");
}

// A reader with a telephone or a desk's screen, by day or night.
#[test]
fn the_demos_report_says_on_its_first_screen_what_was_found_and_can_be_read_at_any_width() {
    let file = include_str!("../../../scenarios/showcase.toml");
    let demo = Scenario::of_text("showcase.toml", file, &[], &Catalogue::BUILT_IN).unwrap();
    let results = results::run(&demo, &Simulator::default(), RunOptions { threads: 2 }, &mut ());
    let (summary, series) = (Summary::of(&results, "results/showcase/sim"), Series::of(&results));
    let world = StoredWorld { name: "simulator".into(), summary, series, manifest: json!({}) };
    let stored =
        Stored { directory: "results/showcase".into(), scenario: Cow::Owned(demo), worlds: vec![Cow::Owned(world)] };
    let name = "the_demos_report_says_on_its_first_screen_what_was_found_and_can_be_read_at_any_width";
    let Some(mut shown) = show(name, &html::render(&[stored])) else { return };
    for (width, scheme) in [(375, "light"), (375, "dark"), (1400, "light"), (1400, "dark")] {
        shown.look_as(width, scheme);
        assert_eq!(shown.browser.value(LOOK), json!([]), "{width} px, {scheme}");
        let found = shown.text("document.querySelector('p.about').textContent");
        assert!(found.contains("goodput is higher in") && found.contains("95th percentile of the round trips of ping"));
        let ends = "['p.about', '.sweep-panes figure svg'].map((part) => document.querySelector(part).getBoundingClientRect().bottom)";
        let ends: Vec<f64> = serde_json::from_value(shown.browser.value(ends)).unwrap();
        assert!(ends.iter().all(|end| *end > 0.0 && *end < f64::from(HEIGHT)), "{width} px: {ends:?}");
        assert_eq!(shown.browser.value(HIDDEN_NUMBERS), json!([]), "{width} px, {scheme}");
        shown.browser.value("scrollTo(0, 0)");
    }
    assert_eq!(shown.browser.complaints(), [""; 0]);
}

#[test]
fn a_page_that_cannot_be_read_would_be_noticed() {
    let faults = [
        ("<div style='width: 900px'>x</div>", "px wide"),
        ("<p style='color: #999'>x</p>", "contrast"),
        ("<p style='opacity: 0.5'>x</p>", "contrast"),
        ("<svg viewBox='0 0 1000 100' width='300'><text y='50' font-size='12'>x</text></svg>", "3.6 px small"),
    ];
    let Some(mut shown) = show("a_page_that_cannot_be_read_would_be_noticed", "<!doctype html><main></main>") else {
        return;
    };
    shown.look_as(375, "light");
    for (body, told) in faults {
        shown.browser.value(&format!("document.querySelector('main').innerHTML = {}", json!(body)));
        let found = shown.browser.value(LOOK).to_string();
        assert!(found.contains(told), "{body}: {found}");
    }
    let covered = "<table class='numbers'><tr><td>1</td></tr></table><div style='position: fixed; inset: 0; background: #fff'></div>";
    shown.browser.value(&format!("document.querySelector('main').innerHTML = {}", json!(covered)));
    assert_eq!(shown.browser.value(HIDDEN_NUMBERS), json!(["1"]));
}

#[test]
fn one_measure_over_another_is_points_with_ellipses_that_tell_their_cell() {
    let ping = "[probes.ping]\nfrom = \"sender\"\nto = \"receiver\"\n\n[vary]";
    let figure = "[[figures]]\nname = \"both\"\nx = \"probes.ping.rtt_ns.p95\"\ny = \"goodput_bps\"\nlines = \"schemes.repair.kind\"\n";
    let sets = ["runs=3", "duration=4s", "links.air.loss=5%"];
    let text = format!("{}\n{figure}", DEMO.replacen("[vary]", ping, 1));
    let scenario = read_with(&text, &sets, &Catalogue::BUILT_IN).unwrap();
    let results = results::run(&scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ());
    let (summary, series) = (Summary::of(&results, "results/demo/sim"), Series::of(&results));
    let reading = summary.cells[0].readings.get("probes.ping.rtt_ns.p95").unwrap();
    assert_eq!(reading.runs.len(), 3, "what a figure needs of each run is in the file");
    let world = StoredWorld { name: "simulator".into(), summary, series, manifest: json!({}) };
    let stored =
        Stored { directory: "results/demo".into(), scenario: Cow::Owned(scenario), worlds: vec![Cow::Owned(world)] };
    let name = "one_measure_over_another_is_points_with_ellipses_that_tell_their_cell";
    let Some(mut shown) = show(name, &html::render(&[stored])) else { return };
    let parts = ["mark", "spread", "curve", "whisker"];
    let counts = parts.map(|part| shown.count(&format!(".sweep-panes path.{part}")));
    assert_eq!(counts, [4, 4, 0, 0]);
    let broken = "[...document.querySelectorAll('svg path')].filter((node) => /NaN|undefined|Infinity/.test(node.outerHTML)).length";
    assert_eq!(shown.browser.value(broken), 0);
    shown.browser.value("document.querySelector('.sweep-panes svg').focus()");
    shown.browser.press("Home");
    let tip = shown.text("document.querySelector('.sweep-panes .tip').innerText");
    assert!(tip.contains("ping.rtt p95") && (tip.contains(", cubic: ") || tip.contains(", bbr: ")), "{tip}");
    assert_eq!(shown.browser.complaints(), [""; 0]);
}
