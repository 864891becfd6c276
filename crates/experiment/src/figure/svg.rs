//! A figure as one SVG file that needs nothing else: panes with the same upward axis, whiskers for the 95 % intervals.
//!
//! Lines differ in colour (grey, then Okabe and Ito's palette, which the colour-blind can tell apart), marker and dashes, so that a
//! black-and-white print still says which is which. Styles are attributes, so a page can hold several figures inline.

use super::ticks::{self, Ticks};
use super::{Figure, Line, Pane, Point, Scale};
use crate::markup;
use crate::scenario::Across;
use std::fmt::Write;

/// Size of a pane with its axes, and what stands around its plot, in pixels.
const PANE: [f64; 2] = [400.0, 300.0];
const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 50.0;
/// Share of a plot that is left free at both sides, so that no point sits on an axis.
const INSET: f64 = 0.03;
/// Above and below the panes.
const HEAD: f64 = 34.0;
const LEGEND_ROW: f64 = 20.0;
const FOOT: f64 = 24.0;
/// Room for slanted labels of categories.
const SLANTED: f64 = 70.0;
/// A line of more points is drawn without their markers.
const MOST_MARKERS: usize = 60;
/// Mean width of a character, in font sizes.
const CHARACTER: f64 = 0.56;

/// Those of the report (`--s0` to `--s6` in style.css): a line has the same colour on the page and in its file.
pub const COLOURS: [&str; 7] = ["#7f858f", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES: [&str; 4] = ["", "7 3", "2 3", "8 3 2 3"];
const FONT: &str = "Helvetica, Arial, 'Liberation Sans', sans-serif";

/// The file. Equal figures give equal bytes.
pub fn text(figure: &Figure) -> String {
    let drawing = Drawing::of(figure);
    let [width, height] = drawing.size();
    let mut svg = Svg(String::new());
    svg.put(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" font-family=\"{FONT}\" font-size=\"11\" fill=\"#222\">"
    ));
    svg.put(&format!("<title>{}</title>", escape(&drawing.title())));
    svg.put(&format!("<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>"));
    svg.text(16.0, 22.0, "font-size=\"15\" font-weight=\"bold\"", &drawing.title());
    if figure.panes.is_empty() {
        svg.text(16.0, HEAD + 40.0, "", "No cell of this figure has such a measure.");
    }
    for (index, pane) in figure.panes.iter().enumerate() {
        drawing.pane(&mut svg, index, pane);
    }
    drawing.legend(&mut svg);
    svg.text(16.0, height - 9.0, "font-size=\"9.5\" fill=\"#666\"", &figure.source);
    svg.put("</svg>");
    svg.0
}

/// What all panes have in common.
struct Drawing<'a> {
    figure: &'a Figure,
    columns: usize,
    x: Ticks,
    y: Ticks,
    /// Labels of categories do not fit side by side.
    is_slanted: bool,
    /// Left ends of the legend's entries and their rows.
    legend: Vec<(f64, usize)>,
}

impl<'a> Drawing<'a> {
    fn of(figure: &'a Figure) -> Self {
        let columns = match figure.panes.len() {
            0 | 1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
        let points = || figure.panes.iter().flat_map(|pane| &pane.lines).flat_map(|line| &line.points);
        let spreads = || points().filter_map(|point| point.spread);
        let top =
            |point: &Point| point.spread.map(|spread| spread.ends(1)).or(point.ci95).map_or(point.y, |[_, high]| high);
        let highest = points().map(|point| figure.y.unit.convert(top(point).max(point.y)));
        let y = ticks::linear(0.0, highest.fold(0.0, f64::max), 5);
        let numbers = figure.x.steps.iter().filter_map(|(_, number)| *number);
        let mut numbers: Vec<f64> = numbers.chain(spreads().flat_map(|spread| spread.ends(0))).collect();
        if figure.x.scale == Scale::Logarithmic {
            numbers.retain(|number| *number > 0.0);
        }
        let (low, high) = numbers.iter().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
        let x = match figure.x.scale {
            Scale::Linear => ticks::linear(low, high, 5),
            Scale::Logarithmic => ticks::logarithmic(low, high),
            Scale::Categories => categories(figure),
        };
        let room = (PANE[0] - LEFT - RIGHT) / figure.x.steps.len().max(1) as f64;
        let is_slanted =
            figure.x.scale == Scale::Categories && x.marks.iter().any(|(_, text)| text_width(text, 11.0) > room - 6.0);
        let mut drawing = Drawing { figure, columns, x, y, is_slanted, legend: Vec::new() };
        drawing.legend = legend_places(figure, columns as f64 * PANE[0]);
        drawing
    }

    fn title(&self) -> String {
        let title = format!("{} over {}", self.figure.y.title, self.figure.x.title);
        let mut characters = title.chars();
        characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
    }

    fn pane_height(&self) -> f64 {
        PANE[1] + if self.is_slanted { SLANTED } else { 0.0 }
    }

    fn legend_top(&self) -> f64 {
        HEAD + self.figure.panes.len().div_ceil(self.columns).max(1) as f64 * self.pane_height()
    }

    fn size(&self) -> [f64; 2] {
        let rows = self.legend.iter().map(|(_, row)| row + 1).max().unwrap_or(0);
        [self.columns as f64 * PANE[0], self.legend_top() + rows as f64 * LEGEND_ROW + FOOT]
    }

    fn pane(&self, svg: &mut Svg, index: usize, pane: &Pane) {
        let left = (index % self.columns) as f64 * PANE[0] + LEFT;
        let top = HEAD + (index / self.columns) as f64 * self.pane_height() + TOP;
        let plot = Plot { left, top, width: PANE[0] - LEFT - RIGHT, height: PANE[1] - TOP - BOTTOM };
        if let Some(axis) = &self.figure.panes_by {
            let label = format!("{} {}", crate::table::title_of(axis), pane.label);
            svg.text(left, top - 9.0, "font-weight=\"bold\"", &label);
        }
        self.axes(svg, &plot);
        let count = self.figure.legend.len();
        for line in &pane.lines {
            // Categories have room to stand side by side; on an axis of numbers a point stands where its number is.
            let aside = match self.figure.x.scale {
                Scale::Categories => (line.index as f64 - (count as f64 - 1.0) / 2.0) * (24.0 / count as f64).min(7.0),
                _ => 0.0,
            };
            self.line(svg, &plot, line, aside);
        }
    }

    fn axes(&self, svg: &mut Svg, plot: &Plot) {
        let (right, bottom) = (plot.left + plot.width, plot.top + plot.height);
        svg.put("<g stroke=\"#ddd\" stroke-width=\"1\">");
        for (number, _) in &self.y.marks {
            let y = plot.y(share(*number, &self.y));
            svg.put(&format!("<path d=\"M{:.1} {y:.1}H{right:.1}\"/>", plot.left));
        }
        svg.put("</g><g stroke=\"#222\" fill=\"none\">");
        svg.put(&format!("<path d=\"M{:.1} {:.1}V{bottom:.1}H{right:.1}\"/>", plot.left, plot.top));
        for (number, _) in &self.x.marks {
            svg.put(&format!("<path d=\"M{:.1} {bottom:.1}v5\"/>", plot.left + self.right_of(*number) * plot.width));
        }
        svg.put("</g>");
        for (number, text) in &self.y.marks {
            svg.text(plot.left - 7.0, plot.y(share(*number, &self.y)) + 4.0, "text-anchor=\"end\"", text);
        }
        for (number, text) in &self.x.marks {
            let (x, y) = (plot.left + self.right_of(*number) * plot.width, bottom + 18.0);
            match self.is_slanted {
                false => svg.text(x, y, "text-anchor=\"middle\"", text),
                true => {
                    let turn = format!("text-anchor=\"end\" transform=\"rotate(-30 {:.1} {:.1})\"", x + 4.0, y - 4.0);
                    svg.text(x + 4.0, y - 4.0, &turn, &shortened(text, 26));
                }
            }
        }
        let x_title = with_unit(&self.figure.x.title, &self.figure.x.unit);
        let below = bottom + 38.0 + if self.is_slanted { SLANTED } else { 0.0 };
        svg.text(plot.left + plot.width / 2.0, below, "text-anchor=\"middle\"", &x_title);
        let (x, y) = (plot.left - 46.0, plot.top + plot.height / 2.0);
        let turn = format!("text-anchor=\"middle\" transform=\"rotate(-90 {x:.1} {y:.1})\"");
        svg.text(x, y, &turn, &with_unit(&self.figure.y.title, self.figure.y.unit.label()));
    }

    fn line(&self, svg: &mut Svg, plot: &Plot, line: &Line, aside: f64) {
        let place = |point: &Point, y: f64| {
            let x = point.x.filter(|_| self.figure.x.scale != Scale::Categories).unwrap_or(point.step as f64);
            (plot.left + self.right_of(x) * plot.width + aside, plot.y(share(self.figure.y.unit.convert(y), &self.y)))
        };
        let colour = colour(line.index);
        svg.put(&format!("<g stroke=\"{colour}\" fill=\"none\" stroke-width=\"1.6\">"));
        let is_joined = self.figure.across != Across::Measure && self.figure.x.scale != Scale::Categories;
        if is_joined && line.points.len() > 1 && !line.is_printed {
            let corners: Vec<String> =
                line.points.iter().map(|point| place(point, point.y)).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            svg.put(&format!("<path d=\"M{}\"{}/>", corners.join("L"), dashes(line.index)));
        }
        for spread in line.points.iter().filter_map(|point| point.spread) {
            let corner = |[x, y]: [f64; 2]| place(&Point { x: Some(x), ..Point::default() }, y);
            let corners: Vec<String> = spread.outline().map(corner).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            svg.put(&format!(
                "<path fill=\"{colour}\" fill-opacity=\"0.15\" stroke-width=\"1\" d=\"M{}Z\"/>",
                corners.join("L")
            ));
        }
        for point in &line.points {
            let is_interval = |[low, high]: &[f64; 2]| low < high && self.figure.across != Across::Measure;
            let Some([low, high]) = point.ci95.filter(is_interval) else { continue };
            let ((x, low), (_, high)) = (place(point, low), place(point, high));
            svg.put(&format!(
                "<path stroke-width=\"1\" d=\"M{x:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}h6M{0:.1} {high:.1}h6\"/>",
                x - 3.0
            ));
        }
        svg.put("</g>");
        if line.points.len() > MOST_MARKERS {
            return;
        }
        for point in &line.points {
            let (x, y) = place(point, point.y);
            svg.put(&marker(line.index, x, y));
        }
    }

    /// Where a number stands between the left and right end of the axis, 0 to 1.
    fn right_of(&self, number: f64) -> f64 {
        let share = match self.figure.x.scale {
            Scale::Logarithmic => (number / self.x.low).log10() / (self.x.high / self.x.low).log10(),
            Scale::Linear => share(number, &self.x),
            Scale::Categories => return share(number, &self.x),
        };
        INSET + (1.0 - 2.0 * INSET) * share
    }

    fn legend(&self, svg: &mut Svg) {
        for (index, (label, (x, row))) in self.figure.legend.iter().zip(&self.legend).enumerate() {
            let y = self.legend_top() + *row as f64 * LEGEND_ROW + 8.0;
            let stroke = format!("stroke=\"{}\" stroke-width=\"1.6\"", colour(index));
            svg.put(&format!("<path d=\"M{x:.1} {y:.1}h26\" {stroke}{}/>", dashes(index)));
            svg.put(&marker(index, x + 13.0, y));
            svg.text(x + 32.0, y + 4.0, "", label);
        }
    }
}

/// A plot's surface within its axes.
struct Plot {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Plot {
    fn y(&self, share: f64) -> f64 {
        self.top + (1.0 - share) * self.height
    }
}

/// Half a step is left free at both ends.
fn categories(figure: &Figure) -> Ticks {
    let marks = figure.x.steps.iter().enumerate().map(|(step, (label, _))| (step as f64, label.clone()));
    Ticks { low: -0.5, high: figure.x.steps.len() as f64 - 0.5, marks: marks.collect() }
}

fn share(number: f64, ticks: &Ticks) -> f64 {
    (number - ticks.low) / (ticks.high - ticks.low)
}

fn legend_places(figure: &Figure, width: f64) -> Vec<(f64, usize)> {
    if figure.lines_by.is_none() {
        return Vec::new();
    }
    let (mut x, mut row) = (LEFT, 0);
    let place = |label: &String| {
        let entry = 32.0 + text_width(label, 11.0) + 22.0;
        if x > LEFT && x + entry > width {
            (x, row) = (LEFT, row + 1);
        }
        let at = (x, row);
        x += entry;
        at
    };
    figure.legend.iter().map(place).collect()
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

fn dashes(index: usize) -> String {
    match DASHES[index % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// A disc, square, triangle or diamond; hollow from the eighth line on, where colours begin again.
fn marker(index: usize, x: f64, y: f64) -> String {
    let colour = colour(index);
    let fill = if index < COLOURS.len() { colour } else { "#fff" };
    let paint = format!("fill=\"{fill}\" stroke=\"{colour}\"");
    match index % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" {paint}/>"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" {paint}/>", x - 3.0, y - 3.0),
        2 => format!("<path d=\"M{:.1} {:.1}l3.8 6.4h-7.6z\" {paint}/>", x, y - 4.0),
        _ => format!("<path d=\"M{:.1} {:.1}l4 4l-4 4l-4 -4z\" {paint}/>", x, y - 4.0),
    }
}

fn with_unit(title: &str, unit: &str) -> String {
    if unit.is_empty() { title.to_owned() } else { format!("{title} ({unit})") }
}

fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters - 1).chain(['…']).collect()
}

fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * CHARACTER
}

struct Svg(String);

impl Svg {
    fn put(&mut self, element: &str) {
        self.0.push_str(element);
        self.0.push('\n');
    }

    fn text(&mut self, x: f64, y: f64, attributes: &str, text: &str) {
        let gap = if attributes.is_empty() { "" } else { " " };
        writeln!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\"{gap}{attributes}>{}</text>", escape(text))
            .expect("writing to a string");
    }
}

/// Text for XML. Control characters, which XML cannot hold at all, become the replacement character.
fn escape(text: &str) -> String {
    let is_unknown = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    markup::escape(&text.replace(is_unknown, "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::COLOURS;

    #[test]
    fn a_line_has_the_colour_that_it_has_in_the_report() {
        let style = include_str!("../html/style.css");
        let light = style.lines().find(|line| line.trim_start().starts_with("--s0")).unwrap();
        let named = |(index, colour): (usize, &&str)| format!("--s{index}: {colour};");
        let wanted: Vec<String> = COLOURS.iter().enumerate().map(named).collect();
        assert_eq!(light.trim(), wanted.join(" "));
        assert!(include_str!("../html/draw.js").contains(&format!("`var(--s${{index % {}}})`", COLOURS.len())));
    }
}
