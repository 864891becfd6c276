//! How the view is drawn: a table above, the chosen line below.
//!
//! Nothing depends on colours. Places depend on the size of the terminal and not on what is told, so nothing jumps, and what did
//! not change is not sent to the terminal again. What does not fit is cut.

use super::model::{Line, Passed, SPAN};
use super::telling::State;
use super::words::{percent, short, time};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::bar;
use ratatui::widgets::{
    HighlightSpacing, Paragraph, RenderDirection, Row, Sparkline, StatefulWidget, Table, TableState, Widget, Wrap,
};

/// Rows of words on the chosen line: its title, two for its state, and one each for what is known of it.
const WORDS: u16 = 9;
/// Rows that the title, the table and the keys have at least.
const ABOVE: u16 = 6;
/// A terminal of so many rows has room for high curves.
const HIGH: u16 = 40;
/// Before the curves: what they show.
const LABEL: u16 = 16;
/// The columns: heading and width. The rest of the terminal's width is the second one's.
const COLUMNS: [(&str, u16); 9] = [
    ("LINK", 11),
    ("PEER", 14),
    ("STATE", 7),
    ("RATE", 7),
    ("CARRIED", 7),
    ("LOSS", 6),
    ("EXTRA", 6),
    ("WAIT", 7),
    ("FLOWS", 5),
];
/// Curves for terminals that have no others.
pub(super) static PLAIN: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: "=",
    three_eighths: "=",
    one_quarter: "-",
    one_eighth: ".",
    empty: " ",
};
/// Curves of block characters.
pub(super) static BLOCKS: bar::Set<'static> = bar::NINE_LEVELS;

/// A curve: its name, its values, and how they are written.
type Curve = (&'static str, fn(&Passed) -> u64, fn(u64) -> String);
const CURVES: [Curve; 3] = [
    ("carried", Passed::carried_bps, short),
    ("loss", |passed| passed.loss().unwrap_or(0), percent),
    ("wait", |passed| passed.wait_ns, time),
];

/// What is drawn.
pub(super) struct View<'a> {
    pub lines: &'a [&'a Line],
    pub chosen: usize,
    pub bars: &'static bar::Set<'static>,
}

/// Rows of the part below in a terminal of so many rows: of words, and of each curve.
fn below(height: u16) -> (u16, u16) {
    let curve = if height >= HIGH { 5 } else { 2 };
    // A low terminal shows the table only.
    if height >= ABOVE + WORDS + 3 * curve { (WORDS, curve) } else { (0, 0) }
}

/// Rows in which all of so many lines fit.
pub(super) fn height_for(lines: usize) -> u16 {
    let others = u16::try_from(lines.max(3)).unwrap_or(u16::MAX / 2) + 3 + WORDS;
    // The curves of a high terminal are higher.
    if others + 3 * 2 < HIGH { others + 3 * 2 } else { others + 3 * 5 }
}

impl View<'_> {
    /// Draws all of it.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let (words, curve) = below(area.height);
        let [title, table, words, curves, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(words),
            Constraint::Length(3 * curve),
            Constraint::Length(1),
        ])
        .areas(area);
        Paragraph::new(self.title()).render(title, buffer);
        self.draw_table(table, buffer);
        if let Some(line) = self.lines.get(self.chosen).filter(|_| words.height > 0) {
            draw_words(line, words, buffer);
            for (place, (name, of, write)) in
                Layout::vertical([Constraint::Length(curve); 3]).split(curves).iter().zip(CURVES)
            {
                self.draw_curve(name, line.past.iter().map(of), write, *place, buffer);
            }
        }
        Paragraph::new(format!("q: quit   up, down: choose a link   a column of the curves: {SPAN} s"))
            .render(keys, buffer);
    }

    fn title(&self) -> String {
        let wanting: Vec<String> =
            self.lines.iter().filter(|line| line.now.state != State::Ok).map(|line| name_of(line)).collect();
        match (self.lines.len(), wanting.len()) {
            (0, _) => "airtcp: nothing runs here".to_owned(),
            (all, 0) => format!("airtcp: {all} of {all} are ok"),
            (all, not) => format!("airtcp: {} of {all} are ok; look at {}", all - not, wanting.join(", ")),
        }
    }

    fn draw_table(&self, area: Rect, buffer: &mut Buffer) {
        let widths = COLUMNS.iter().enumerate().map(|(place, (_, width))| match place {
            1 => Constraint::Min(*width),
            _ => Constraint::Length(*width),
        });
        let rows = self.lines.iter().map(|line| Row::new(cells(line)));
        let table = Table::new(rows, widths)
            .header(Row::new(COLUMNS.map(|(heading, _)| heading)).style(Style::new().add_modifier(Modifier::BOLD)))
            .highlight_symbol("> ")
            .highlight_spacing(HighlightSpacing::Always)
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        let mut state = TableState::new().with_selected(self.chosen);
        StatefulWidget::render(table, area, buffer, &mut state);
    }

    fn draw_curve(
        &self,
        name: &str,
        values: impl DoubleEndedIterator<Item = u64>,
        write: fn(u64) -> String,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let [label, curve] = Layout::horizontal([Constraint::Length(LABEL), Constraint::Min(1)]).areas(area);
        // The latest on the right.
        let values: Vec<u64> = values.rev().take(usize::from(curve.width)).collect();
        let most = values.iter().copied().max().unwrap_or(0);
        Paragraph::new(format!("{name}\nmost {}", write(most))).render(label, buffer);
        Sparkline::default()
            .bar_set(self.bars.clone())
            .direction(RenderDirection::RightToLeft)
            .data(values)
            .max(most.max(1))
            .render(curve, buffer);
    }
}

/// `air`, or `hub east`
fn name_of(line: &Line) -> String {
    match line.now.of.as_str() {
        "" => line.now.name.clone(),
        peer => format!("{} {peer}", line.now.name),
    }
}

fn cells(line: &Line) -> [String; 9] {
    let (now, recent) = (&line.now, line.recent());
    let known = |value: Option<u64>, write: fn(u64) -> String| value.map_or("-".to_owned(), write);
    [
        now.name.clone(),
        now.peer.clone(),
        now.state.word().to_owned(),
        known(now.rate_bps, short),
        short(line.last().carried_bps()),
        known(recent.loss(), percent),
        known(recent.extra(), percent),
        known(now.wait_ns(), time),
        known(now.flows, short),
    ]
}

fn draw_words(line: &Line, area: Rect, buffer: &mut Buffer) {
    let [title, why, facts] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(2), Constraint::Min(0)]).areas(area);
    let now = &line.now;
    let peer = if now.peer.is_empty() { String::new() } else { format!(", peer {}", now.peer) };
    let words = [name_of(line), now.kind.clone()].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let heading = format!("--- {}{peer} ", words.join(": "));
    Paragraph::new(format!("{heading:-<width$}", width = usize::from(area.width))).render(title, buffer);
    let sentence = if now.why.is_empty() { "all is well" } else { now.why.as_str() };
    Paragraph::new(sentence).wrap(Wrap { trim: true }).render(why, buffer);
    Paragraph::new(facts_of(line).join("\n")).render(facts, buffer);
}

/// What is known of a line, a row each.
fn facts_of(line: &Line) -> [String; 6] {
    let (now, counts) = (&line.now, &line.now.counts);
    let (last, recent) = (line.last(), line.recent());
    let known = |value: Option<u64>, write: fn(u64) -> String| value.map_or("unknown".to_owned(), write);
    let back =
        counts.from_bytes.map_or(String::new(), |_| format!(", {}bit/s from it", short(last.carried_back_bps())));
    [
        format!(
            "rate     {}; carried {}bit/s to it{back}",
            now.rate_bps.map_or("unknown".to_owned(), |rate| format!("{}bit/s believed", short(rate))),
            short(last.carried_bps())
        ),
        format!(
            "wait     {} bytes before the link take {}, {} in the link; round trip {}",
            known(now.queue_bytes, short),
            known(now.queue_wait_ns, time),
            known(now.link_wait_ns, time),
            known(now.round_trip_ns, time)
        ),
        format!(
            "loss     {} to it, {} of it repaired; from it {} computed, {} after a gap",
            known(recent.loss(), percent),
            known(recent.repaired(), percent),
            short(counts.recovered),
            short(counts.across_gaps)
        ),
        format!("extra    {} sent before anybody missed it", known(recent.extra(), percent)),
        format!(
            "helped   {} flows; left alone: {}",
            known(now.flows, short),
            list(now.left_alone.iter().map(|(what, count)| (*what, *count)))
        ),
        format!("dropped  {}", list(now.dropped.iter().map(|(what, count)| (what.as_str(), *count)))),
    ]
}

fn list<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let counts: Vec<String> = counts.map(|(what, count)| format!("{} {what}", short(count))).collect();
    if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::model::Model;
    use super::super::model::tests::told;
    use super::super::rows;
    use super::*;
    use crate::verbs::told::Told;
    use ratatui::backend::CrosstermBackend;
    use ratatui::{Terminal, TerminalOptions, Viewport};

    fn model(names: &[&str], looks: u64) -> Model {
        let mut model = Model::default();
        for look in 0..looks {
            let answers: Vec<_> = names.iter().map(|name| told(name, look * look * 100, look * 2)).collect();
            model.take(&answers, 1_000);
        }
        model
    }

    fn drawn(width: u16, height: u16, model: &Model) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        View { lines: &model.lines(), chosen: model.chosen(), bars: &BLOCKS }.draw(area, &mut buffer);
        rows(&buffer)
    }

    /// Everything is as long as it can be.
    fn busy() -> Model {
        let (name, Ok(Told::Forwarder(mut status))) = told("a-forwarder-of-a-long-name", 1 << 40, 1 << 40) else {
            unreachable!("as was told")
        };
        status.peer_state.up = false;
        status.state = "the peer is silent, connections wait: nothing is heard from it ".repeat(9);
        status.peer = "[2001:db8:1234:5678:9abc:def0:1234:5678]:4791".into();
        status.gauges = [("connections".to_owned(), u64::MAX), ("memory".to_owned(), u64::MAX)].into();
        status.broken = (0..30).map(|n| (format!("ERROR{n}"), u64::MAX)).collect();
        let mut model = model(&["z"], 300);
        model.take(&[(name, Ok(Told::Forwarder(status))), told("z", 1, 0)], 1);
        model
    }

    #[test]
    fn all_columns_fit_into_80_by_24_and_the_chosen_line_is_explained() {
        let rows = drawn(80, 24, &busy());
        let heading: Vec<&str> = rows[1].split_whitespace().collect();
        assert_eq!(heading, COLUMNS.map(|(heading, _)| heading));
        assert!(rows[2].starts_with("> a-forwarder [2001:db8:1234 no peer"), "{rows:#?}");
        assert!(rows[3].starts_with("  z ") && rows[3].contains(" ok "), "{rows:#?}");
        assert!(rows[0].contains("1 of 2 are ok; look at a-forwarder-of"), "{}", rows[0]);
        assert!(rows.iter().any(|row| row.starts_with("the peer is silent")), "{rows:#?}");
        assert!(rows[23].starts_with("q: quit"));
    }

    #[test]
    fn history_is_drawn_in_both_kinds_of_characters() {
        let model = model(&["air"], 300);
        let rows = drawn(80, 24, &model);
        let carried = rows.iter().position(|row| row.starts_with("carried")).unwrap();
        assert!(rows[carried + 1].ends_with('█') && rows[carried + 1].contains('▁'), "{rows:#?}");
        let area = Rect::new(0, 0, 80, 24);
        let mut buffer = Buffer::empty(area);
        View { lines: &model.lines(), chosen: 0, bars: &PLAIN }.draw(area, &mut buffer);
        let plain = super::super::rows(&buffer);
        assert!(plain[carried + 1].ends_with('#') && plain.iter().all(|row| row.is_ascii()), "{plain:#?}");
    }

    #[test]
    fn places_depend_on_the_terminal_and_not_on_what_is_told() {
        for (width, height) in [(80, 24), (200, 50)] {
            let places = |rows: &[String]| -> Vec<(usize, usize)> {
                let named =
                    ["LINK", "FLOWS", "rate ", "helped ", "dropped ", "carried  ", "loss  ", "wait  ", "q: quit"];
                let place = |name: &str| rows.iter().enumerate().find_map(|(at, row)| Some((at, row.find(name)?)));
                named.iter().map(|name| place(name).unwrap_or_else(|| panic!("no {name}: {rows:#?}"))).collect()
            };
            let [busy, quiet] = [busy(), model(&["a"], 1)].map(|model| places(&drawn(width, height, &model)));
            assert_eq!(busy, quiet, "{width} by {height}");
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_many_lines_scroll() {
        let names: Vec<String> = (10..74).map(|n| format!("link-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut model = model(&names, 2);
        model.choose(63);
        for (width, height) in [(1, 1), (20, 3), (80, 10), (80, 24), (300, 90)] {
            let rows = drawn(width, height, &model);
            assert_eq!(rows.len(), usize::from(height));
            assert!(rows.iter().all(|row| row.chars().count() == usize::from(width)));
        }
        assert!(drawn(80, 24, &model).iter().any(|row| row.starts_with("> link-73")));
        let rows = drawn(80, height_for(64), &model);
        assert!(names.iter().all(|name| rows.iter().any(|row| row[2..].starts_with(name))), "{rows:#?}");
        assert!(drawn(80, 24, &Model::default())[0].contains("nothing runs here"));
    }

    /// What a terminal is sent in this test.
    #[derive(Clone, Default)]
    struct Wire(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

    impl std::io::Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_what_changed_goes_over_the_line_to_the_terminal() {
        let wire = Wire::default();
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, 80, 24)) };
        let mut terminal = Terminal::with_options(CrosstermBackend::new(wire.clone()), options).unwrap();
        let mut sent = |model: &Model| {
            wire.0.borrow_mut().clear();
            let view = View { lines: &model.lines(), chosen: 0, bars: &BLOCKS };
            terminal.draw(|frame| view.draw(frame.area(), frame.buffer_mut())).unwrap();
            wire.0.borrow().len()
        };
        let mut model = model(&["air"], 300);
        let whole = sent(&model);
        assert!(whole > 1_000, "{whole}");
        assert!(sent(&model) < 50, "nothing changed");
        // 1,200 characters a second are a modem's line.
        let mut seconds: Vec<usize> = Vec::new();
        for second in 0..20_u64 {
            model.take(&[told("air", 9_000_000 + second * 1_000, 600)], 1_000);
            seconds.push(sent(&model));
        }
        let mean = seconds.iter().sum::<usize>() / seconds.len();
        assert!(mean < 600 && seconds.iter().all(|bytes| *bytes < whole), "{seconds:?}, the whole page {whole}");
    }
}
