//! `airtcp status --watch`: the links and forwarders of this machine on a terminal, drawn anew once a second and when a key is
//! pressed.

mod model;
mod telling;
mod view;
mod words;

use super::told::Told;
use crate::interrupt::Interrupt;
use crate::output;
use airtcp_linux::sys::clock;
use anyhow::Context;
use model::Model;
use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;
use view::{BLOCKS, PLAIN, View};

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// What `--once` draws on where it is not told: columns.
const WIDTH: u16 = 80;
/// Names the form of what `--json` prints, and its version.
const SCHEMA: &str = "airtcp.watch/1";

/// Asks all daemons.
pub(super) type Ask<'a> = &'a dyn Fn() -> Vec<(String, Result<Told, String>)>;

/// Looks at daemons, once a second.
struct Watch<'a> {
    ask: Ask<'a>,
    model: Model,
    looked: airtcp_core::Instant,
}

impl<'a> Watch<'a> {
    fn begin(ask: Ask<'a>) -> Watch<'a> {
        let looked = clock::now();
        let mut model = Model::default();
        model.take(&ask(), 0);
        Watch { ask, model, looked }
    }

    /// How long until the next look.
    fn left(&self) -> Duration {
        LOOK.saturating_sub(Duration::from_nanos(clock::now().saturating_since(self.looked).as_nanos()))
    }

    fn look(&mut self) {
        let now = clock::now();
        self.model.take(&(self.ask)(), now.saturating_since(self.looked).as_millis());
        self.looked = now;
    }
}

/// Looks twice, a second apart, and prints the view with room for all links.
pub(super) fn once(ask: Ask<'_>) {
    let mut watch = Watch::begin(ask);
    std::thread::sleep(watch.left());
    watch.look();
    let lines = watch.model.lines();
    let width = output::columns().and_then(|columns| u16::try_from(columns).ok()).unwrap_or(WIDTH);
    let area = Rect::new(0, 0, width, view::height_for(lines.len()));
    let mut buffer = Buffer::empty(area);
    View { lines: &lines, chosen: 0, bars: bars() }.draw(area, &mut buffer);
    let mut rows = rows(&buffer);
    // There are no keys.
    rows.pop();
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    output::print(rows.join("\n").trim_end());
}

/// Prints a line of JSON each second, or one only, until somebody ends it or nobody reads it.
///
/// # Errors
/// The system's.
pub(super) fn print_json(ask: Ask<'_>, is_once: bool) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let mut watch = Watch::begin(ask);
    loop {
        std::thread::sleep(watch.left());
        if interrupt.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        watch.look();
        let links: Vec<_> = watch.model.lines().into_iter().map(model::Line::json).collect();
        let is_read = output::print_while_read(&json!({"schema": SCHEMA, "links": links}).to_string());
        if is_once || !is_read {
            return Ok(());
        }
    }
}

/// Shows the view until it is told to quit.
///
/// # Errors
/// There is no terminal.
pub(super) fn run(ask: Ask<'_>) -> anyhow::Result<()> {
    const NO_TERMINAL: &str = "there is no terminal to draw on; --once prints one page, --json is for programs";
    anyhow::ensure!(output::can_be_drawn_on(), NO_TERMINAL);
    let interrupt = Interrupt::listen()?;
    let mut terminal = ratatui::try_init().context(NO_TERMINAL)?;
    let result = show(&mut terminal, ask, &interrupt);
    ratatui::restore();
    result
}

fn show(terminal: &mut DefaultTerminal, ask: Ask<'_>, interrupt: &Interrupt) -> anyhow::Result<()> {
    let (mut watch, bars) = (Watch::begin(ask), bars());
    while !interrupt.stop.load(Ordering::Relaxed) {
        let (lines, chosen) = (watch.model.lines(), watch.model.chosen());
        terminal.draw(|frame| View { lines: &lines, chosen, bars }.draw(frame.area(), frame.buffer_mut()))?;
        if !event::poll(watch.left())? {
            watch.look();
            continue;
        }
        match wish(&event::read()?) {
            Wish::Quit => return Ok(()),
            Wish::Up => watch.model.choose(chosen.saturating_sub(1)),
            Wish::Down => watch.model.choose(chosen + 1),
            Wish::First => watch.model.choose(0),
            Wish::Last => watch.model.choose(usize::MAX),
            Wish::Nothing => {}
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Quit,
    Up,
    Down,
    First,
    Last,
    Nothing,
}

fn wish(event: &Event) -> Wish {
    let Event::Key(key) = event else { return Wish::Nothing };
    if key.kind == KeyEventKind::Release {
        return Wish::Nothing;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Wish::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
        KeyCode::Up | KeyCode::Char('k') => Wish::Up,
        KeyCode::Down | KeyCode::Char('j') => Wish::Down,
        KeyCode::Home | KeyCode::Char('g') => Wish::First,
        KeyCode::End | KeyCode::Char('G') => Wish::Last,
        _ => Wish::Nothing,
    }
}

/// What curves are made of: ASCII where the locale is not of UTF-8.
fn bars() -> &'static ratatui::symbols::bar::Set<'static> {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty());
    if is_utf8(&locale.unwrap_or_default()) { &BLOCKS } else { &PLAIN }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// What was drawn, as text.
fn rows(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content().chunks(width).map(|row| row.iter().map(|cell| cell.symbol()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    #[test]
    fn keys_choose_and_quit() {
        let key = |code, modifiers| wish(&Event::Key(KeyEvent::new(code, modifiers)));
        let plain = |code| key(code, KeyModifiers::NONE);
        let letters = ['q', 'k', 'j', 'g', 'G', 'c'].map(|letter| plain(KeyCode::Char(letter)));
        assert_eq!(letters, [Wish::Quit, Wish::Up, Wish::Down, Wish::First, Wish::Last, Wish::Nothing]);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Wish::Quit);
        let named = [KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End, KeyCode::Esc].map(plain);
        assert_eq!(named, [Wish::Up, Wish::Down, Wish::First, Wish::Last, Wish::Quit]);
        assert_eq!(wish(&Event::Resize(80, 24)), Wish::Nothing);
    }

    #[test]
    fn block_characters_are_for_locales_that_have_them() {
        assert!(["en_US.UTF-8", "C.utf8"].into_iter().all(is_utf8));
        assert!(!["C", "", "de_DE.ISO-8859-1"].into_iter().any(is_utf8));
    }
}
