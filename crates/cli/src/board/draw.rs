//! The board on the screen: 80 columns and 24 lines are enough.

use super::popup::{Popup, Question};
use super::scene::{COLUMNS, Row, Scene, Tone};
use super::state::{Mode, Pane, State};
use crate::human::{self, Screen, now};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

/// The lines of the inbox and of the lower lists on a small screen, with their titles.
const LIST_LINES: u16 = 6;
/// The widest popup.
const POPUP_COLUMNS: u16 = 76;
/// The smallest screen that something is drawn on.
const SMALLEST: (u16, u16) = (40, 12);
const HINTS: &str = "j k h l move   Enter open   / filter   ? keys   q end";

pub fn all(frame: &mut Frame<'_>, scene: &Scene, state: &mut State) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        frame.render_widget(Paragraph::new("The terminal is too small for the board."), area);
        return;
    }
    // A large screen has more of everything.
    let list = LIST_LINES.max(area.height / 4).min(area.height / 3);
    let [top, fleet, inbox, board, lower, whole, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(scene.fleet.is_some())),
        Constraint::Length(list),
        Constraint::Min(3),
        Constraint::Length(list),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let screen = Screen { terminal: true, columns: usize::from(area.width), now: now() };
    let painter = Painter { scene, screen };
    frame.render_widget(painter.top(state), top);
    if let Some(words) = &scene.fleet {
        frame.render_widget(Line::raw(human::cut(words, painter.screen.columns)), fleet);
    }
    painter.list(frame, inbox, Pane::Inbox, &format!("Inbox {}", scene.inbox.count), state);
    let columns = Layout::horizontal([Constraint::Fill(1); COLUMNS]).spacing(1).split(board);
    for (at, (area, column)) in columns.iter().zip(&scene.board.columns).enumerate() {
        let title = format!("{} {}", column.title, column.count);
        painter.list(frame, *area, Pane::Column(at), &title, state);
    }
    let [leases, log] = Layout::horizontal([Constraint::Percentage(42), Constraint::Fill(1)])
        .spacing(1)
        .areas(lower);
    let title = format!("Leases {}", scene.leases.len());
    painter.list(frame, leases, Pane::Leases, &title, state);
    painter.list(frame, log, Pane::Log, "Log", state);
    frame.render_widget(painter.chosen(state), whole);
    frame.render_widget(foot_line(state), foot);
    if let Mode::Over(popup) = &state.mode {
        painter.over(frame, popup, state);
    }
}

struct Painter<'s> {
    scene: &'s Scene,
    screen: Screen,
}

fn style(tone: Tone, state: &State) -> Style {
    let colour = |colour: Color| match state.coloured {
        true => Style::new().fg(colour),
        false => Style::new(),
    };
    match tone {
        Tone::Plain => Style::new(),
        Tone::Quiet => Style::new().add_modifier(Modifier::DIM),
        Tone::Busy => colour(Color::Cyan),
        Tone::Review => colour(Color::Magenta),
        Tone::Good => colour(Color::Green),
        Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
    }
}

fn foot_line(state: &State) -> Line<'static> {
    match (&state.mode, &state.said) {
        (Mode::Filter, _) => Line::raw(format!("/{}\u{2588}", state.filter)),
        (_, Some(said)) => Line::raw(said.clone()).style(Modifier::BOLD),
        (Mode::Lists | Mode::Over(_), None) if !state.filter.is_empty() => {
            Line::raw(format!("only rows with {:?}   Esc shows all   {HINTS}", state.filter))
        }
        (Mode::Lists | Mode::Over(_), None) => Line::raw(HINTS).style(Modifier::DIM),
    }
}

impl Painter<'_> {
    fn top(&self, state: &State) -> Line<'static> {
        let board = &self.scene.board;
        let tasks = human::count(board.tasks, "task", "tasks");
        let counts = format!("  {tasks}, {} ready  {}", board.ready, board.me);
        let (tone, live) = match (&state.trouble, &board.at, &board.last_event) {
            (Some(trouble), ..) => (Tone::Bad, format!("not live: {trouble}")),
            (None, Some(at), _) => (Tone::Review, format!("as of seq {}, {}", at.seq, at.ts)),
            (None, None, Some(last)) => {
                (Tone::Quiet, format!("live, last event {}", human::ago(last.ts, &self.screen)))
            }
            (None, None, None) => (Tone::Quiet, "live, no events yet".to_owned()),
        };
        Line::from(vec![
            Span::raw(board.repo.clone()).style(Modifier::BOLD),
            Span::raw(counts),
            Span::raw("  "),
            Span::raw(live).style(style(tone, state)),
        ])
    }

    /// Draws one list with the cursor in sight.
    fn list(&self, frame: &mut Frame<'_>, area: Rect, pane: Pane, title: &str, state: &mut State) {
        let rows = self.scene.rows(pane, &state.filter, &self.screen);
        let cursor = state.cursor(pane, &rows);
        let here = state.pane == pane;
        let weight = if here { Modifier::BOLD } else { Modifier::DIM };
        let block = Block::new()
            .borders(Borders::TOP)
            .border_style(Style::new().add_modifier(weight))
            .title(Span::raw(format!("{title} ")).style(weight));
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let (room, columns) = (usize::from(inner.height), usize::from(inner.width));
        if rows.is_empty() {
            let empty = Line::raw(empty(pane, state)).style(Modifier::DIM);
            frame.render_widget(empty, inner);
            return;
        }
        let first = (cursor + 1).saturating_sub(room);
        let shown = rows.iter().enumerate().skip(first).take(room);
        let lines: Vec<Line<'_>> = shown
            .map(|(at, row)| {
                let line = laid_out(row, columns);
                match here && at == cursor {
                    true => Line::raw(line).style(Modifier::REVERSED),
                    false => Line::raw(line).style(style(row.tone, state)),
                }
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), inner);
    }

    /// The whole of what the cursor is on, as far as a line has room.
    fn chosen(&self, state: &mut State) -> Line<'static> {
        let pane = state.pane;
        let rows = self.scene.rows(pane, &state.filter, &self.screen);
        let at = state.cursor(pane, &rows);
        let whole = rows.get(at).map(|row| row.whole.as_str()).unwrap_or_default();
        Line::raw(human::cut(whole, self.screen.columns))
    }

    fn over(&self, frame: &mut Frame<'_>, popup: &Popup, state: &State) {
        let room = frame.area();
        let width = POPUP_COLUMNS.min(room.width.saturating_sub(4));
        let columns = usize::from(width.saturating_sub(4)).max(1);
        let text = popup.lines.join("\n");
        let lines: usize =
            popup.lines.iter().map(|line| human::width(line).div_ceil(columns).max(1)).sum();
        let options = popup.question.as_ref().map_or(0, |question| question.options.len() + 3);
        let wanted = u16::try_from(lines + options + 2).unwrap_or(u16::MAX);
        let height = wanted.min(room.height.saturating_sub(2));
        let area = Rect {
            x: room.width.saturating_sub(width) / 2,
            y: room.height.saturating_sub(height) / 2,
            width,
            height,
        };
        let block = Block::bordered()
            .title(Span::raw(format!(" {} ", popup.title)).style(Modifier::BOLD))
            .padding(ratatui::widgets::Padding::horizontal(1));
        let inner = block.inner(area);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        // A few lines of a long question stay in view above a long list of answers.
        let above = u16::try_from(lines).unwrap_or(u16::MAX).min(3);
        let below = u16::try_from(options).unwrap_or(u16::MAX);
        let below = below.min(inner.height.saturating_sub(above));
        let [read, act] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(below)]).areas(inner);
        let over = u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(read.height);
        let page = Paragraph::new(text).wrap(Wrap { trim: false });
        frame.render_widget(page.scroll((popup.scrolled.min(over), 0)), read);
        if let Some(question) = &popup.question {
            frame.render_widget(Paragraph::new(answers(question, state, columns)), act);
        }
    }
}

fn answers(question: &Question, state: &State, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::raw("")];
    for (at, (key, words)) in question.options.iter().enumerate() {
        let line = human::cut(&format!("{} {key}  {words}", at + 1), columns);
        let is_chosen = !question.writing && question.chosen == at;
        let weight = if is_chosen { Modifier::REVERSED } else { Modifier::empty() };
        lines.push(Line::raw(line).style(weight));
    }
    let own = match question.writing {
        true => format!("> {}\u{2588}", question.text),
        false => "  your own words".to_owned(),
    };
    let is_chosen = !question.writing && question.chosen == question.options.len();
    let weight = if is_chosen { Modifier::REVERSED } else { Modifier::empty() };
    lines.push(Line::raw(own).style(weight));
    let hint = state.said.clone().unwrap_or_else(|| "Enter sends, Esc closes".to_owned());
    lines.push(Line::raw(hint).style(Modifier::DIM));
    lines
}

fn empty(pane: Pane, state: &State) -> &'static str {
    match pane {
        _ if !state.filter.is_empty() => "Nothing matches.",
        Pane::Inbox => "Nothing needs you.",
        Pane::Leases => "Nobody holds a file.",
        Pane::Log => "Nothing has happened.",
        Pane::Column(_) => "",
    }
}

/// Puts the two ends of a row into a width.
fn laid_out(row: &Row, columns: usize) -> String {
    let right = human::width(&row.right);
    if right == 0 || right + 8 > columns {
        return padded(&human::cut(&row.left, columns), columns);
    }
    let room = columns - right - 1;
    format!("{} {}", padded(&human::cut(&row.left, room), room), row.right)
}

fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(human::width(text));
    format!("{text}{}", " ".repeat(missing))
}
