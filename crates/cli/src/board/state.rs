//! Where the reader is, and what each key does.

use super::popup::Popup;
use super::scene::{COLUMNS, Row, Scene};
use crate::human::{Screen, now};
use comity_api::PanelAnswer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::HashMap;

/// A list of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pane {
    Inbox,
    Column(usize),
    Leases,
    Log,
}

/// What a key leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Then {
    Nothing,
    End,
    /// Show everything about a task.
    Open(String),
    Answer {
        id: String,
        answer: String,
    },
}

/// What the keyboard writes to.
#[derive(Debug, Default)]
pub enum Mode {
    #[default]
    Lists,
    Filter,
    Over(Popup),
}

pub struct State {
    pub pane: Pane,
    pub mode: Mode,
    pub filter: String,
    /// What was done last, or why it was not.
    pub said: Option<String>,
    /// Why the store could not be asked.
    pub trouble: Option<String>,
    pub coloured: bool,
    /// The row of each list that the cursor is on, with its place.
    cursors: HashMap<Pane, (String, usize)>,
    /// The column that the cursor was in last.
    column: usize,
}

impl State {
    pub fn new(coloured: bool) -> State {
        State {
            pane: Pane::Inbox,
            mode: Mode::Lists,
            filter: String::new(),
            said: None,
            trouble: None,
            coloured,
            cursors: HashMap::new(),
            column: 0,
        }
    }

    /// Returns the row that the cursor of a list is on: the same thing as before, or what took its place.
    pub fn cursor(&mut self, pane: Pane, rows: &[Row]) -> usize {
        let kept = self.cursors.get(&pane);
        let found = kept.and_then(|(key, _)| rows.iter().position(|row| row.key == *key));
        // The newest event is looked at until somebody moves.
        let at = found.or(kept.map(|(_, at)| *at)).unwrap_or(0);
        let at = at.min(rows.len().saturating_sub(1));
        if let (Some(row), true) = (rows.get(at), kept.is_some()) {
            self.cursors.insert(pane, (row.key.clone(), at));
        }
        at
    }

    pub fn say(&mut self, words: &str) {
        self.said = Some(words.to_owned());
    }

    pub fn open_task(&mut self, panel: &PanelAnswer) {
        self.mode = Mode::Over(Popup::task(panel));
    }

    pub fn answered(&mut self, id: &str, answer: &str) {
        self.mode = Mode::Lists;
        self.say(&format!("{id} is answered: {answer}"));
    }

    pub fn key(&mut self, key: KeyEvent, scene: &Scene) -> Then {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Then::End;
        }
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Then::Nothing;
        }
        self.said = None;
        match &mut self.mode {
            Mode::Lists => self.in_lists(key.code, scene),
            Mode::Filter => {
                match key.code {
                    KeyCode::Enter => self.mode = Mode::Lists,
                    KeyCode::Esc => {
                        self.filter.clear();
                        self.mode = Mode::Lists;
                    }
                    KeyCode::Backspace => drop(self.filter.pop()),
                    KeyCode::Char(c) => self.filter.push(c),
                    _ => {}
                }
                Then::Nothing
            }
            Mode::Over(popup) => {
                let (then, stays) = popup.key(key.code);
                if !stays {
                    self.mode = Mode::Lists;
                }
                then
            }
        }
    }

    fn in_lists(&mut self, code: KeyCode, scene: &Scene) -> Then {
        match code {
            KeyCode::Char('q') => return Then::End,
            KeyCode::Char('?') => self.mode = Mode::Over(Popup::help()),
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('j') | KeyCode::Down => self.step(1, scene),
            KeyCode::Char('k') | KeyCode::Up => self.step(-1, scene),
            KeyCode::Char('h') | KeyCode::Left => self.aside(-1),
            KeyCode::Char('l') | KeyCode::Right => self.aside(1),
            KeyCode::Tab => self.enter(match self.pane {
                Pane::Inbox => Pane::Column(self.column),
                Pane::Column(_) => Pane::Leases,
                Pane::Leases => Pane::Log,
                Pane::Log => Pane::Inbox,
            }),
            KeyCode::Enter => return self.open(scene),
            _ => {}
        }
        Then::Nothing
    }

    fn enter(&mut self, pane: Pane) {
        self.pane = pane;
        if let Pane::Column(at) = pane {
            self.column = at;
        }
    }

    /// Moves the cursor in its list; at the end of a list it goes to the next one.
    fn step(&mut self, by: isize, scene: &Scene) {
        let rows = self.rows(scene);
        let at = self.cursor(self.pane, &rows);
        let Some(to) = at.checked_add_signed(by).filter(|to| *to < rows.len()) else {
            return match (self.pane, by > 0) {
                (Pane::Inbox, true) => self.enter(Pane::Column(self.column)),
                (Pane::Column(_), true) => self.enter(Pane::Leases),
                (Pane::Column(_), false) => self.enter(Pane::Inbox),
                (Pane::Leases | Pane::Log, false) => self.enter(Pane::Column(self.column)),
                (Pane::Inbox, false) | (Pane::Leases | Pane::Log, true) => {}
            };
        };
        if let Some(row) = rows.get(to) {
            self.cursors.insert(self.pane, (row.key.clone(), to));
        }
    }

    fn aside(&mut self, by: isize) {
        match (self.pane, by > 0) {
            (Pane::Column(at), _) => {
                let to = at.saturating_add_signed(by).min(COLUMNS - 1);
                self.enter(Pane::Column(to));
            }
            (Pane::Leases, true) => self.enter(Pane::Log),
            (Pane::Log, false) => self.enter(Pane::Leases),
            (Pane::Inbox, _) | (Pane::Leases, false) | (Pane::Log, true) => {}
        }
    }

    fn rows(&self, scene: &Scene) -> Vec<Row> {
        let screen = Screen { terminal: true, columns: 0, now: now() };
        scene.rows(self.pane, &self.filter, &screen)
    }

    fn open(&mut self, scene: &Scene) -> Then {
        let rows = self.rows(scene);
        let at = self.cursor(self.pane, &rows);
        let Some(key) = rows.get(at).map(|row| row.key.clone()) else { return Then::Nothing };
        match self.pane {
            Pane::Inbox => {
                let Some(item) = scene.item(&key) else { return Then::Nothing };
                match (&item.decision, &item.task) {
                    (Some(decision), _) if scene.board.at.is_none() => {
                        self.mode = Mode::Over(Popup::decision(decision));
                        Then::Nothing
                    }
                    (_, Some(task)) => Then::Open(task.clone()),
                    (_, None) => Then::Nothing,
                }
            }
            Pane::Column(_) => Then::Open(key),
            Pane::Log => {
                let event = scene.events.iter().find(|event| event.seq.to_string() == key);
                event.and_then(|event| event.task.clone()).map_or(Then::Nothing, Then::Open)
            }
            Pane::Leases => Then::Nothing,
        }
    }
}
