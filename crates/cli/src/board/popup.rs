//! What lies over the board: a question with its answers, a task, the keys.

use super::state::Then;
use comity_api::PanelAnswer;
use comity_core::view::DecisionView;
use ratatui::crossterm::event::KeyCode;

/// The end of a story that is shown.
const HISTORY: usize = 12;

#[derive(Debug)]
pub struct Popup {
    pub title: String,
    /// What is to be read. It scrolls.
    pub lines: Vec<String>,
    pub scrolled: u16,
    pub question: Option<Question>,
}

/// A question that can be answered here.
#[derive(Debug)]
pub struct Question {
    id: String,
    /// The key to answer with, and the words beside it.
    pub options: Vec<(String, String)>,
    /// The option that is chosen; the one after the last is an answer in the reader's own words.
    pub chosen: usize,
    pub text: String,
    pub writing: bool,
}

const KEYS: [(&str, &str); 8] = [
    ("j k", "down and up; at the end of a list, the next list"),
    ("h l", "the column to the left or right"),
    ("Tab", "the next list"),
    ("Enter", "open a task; open a question and answer it"),
    ("1-9", "choose an answer; Enter sends it"),
    ("/", "show only rows with these words; Esc shows all"),
    ("?", "these keys"),
    ("q", "end"),
];

impl Popup {
    pub fn help() -> Popup {
        let lines = KEYS.iter().map(|(keys, words)| format!("{keys:<6} {words}")).collect();
        Popup { title: "Keys".to_owned(), lines, scrolled: 0, question: None }
    }

    pub fn decision(decision: &DecisionView) -> Popup {
        let mut lines = vec![decision.question.clone()];
        let about = decision.task.as_ref().map(|task| format!(" about {task}")).unwrap_or_default();
        lines.push(format!("{} asks{about}.", decision.asked_by));
        if let Some(context) = &decision.context {
            lines.push(String::new());
            lines.extend(context.lines().map(str::to_owned));
        }
        match (&decision.default, decision.expires_at) {
            (Some(default), Some(end)) => {
                lines.push(format!("Without an answer by {end} it is {default}."));
            }
            (None, Some(end)) => lines.push(format!("The question ends at {end}.")),
            (_, None) => {}
        }
        let words = |option: &comity_core::decision::DecisionOption| {
            let parts = [option.label.as_deref(), option.description.as_deref()];
            let words: Vec<&str> = parts.into_iter().flatten().collect();
            (option.key.clone(), words.join(": "))
        };
        let options: Vec<_> = decision.options.iter().map(words).collect();
        let question = Question {
            id: decision.id.clone(),
            writing: options.is_empty(),
            options,
            chosen: 0,
            text: String::new(),
        };
        let title = format!("{} {}", decision.id, decision.r#type);
        Popup { title, lines, scrolled: 0, question: Some(question) }
    }

    pub fn task(panel: &PanelAnswer) -> Popup {
        let (task, card) = (&panel.task, &panel.card);
        let mut lines = vec![task.title.clone(), String::new(), panel.why.summary.clone()];
        lines.extend(panel.why.reasons.iter().map(|reason| format!("  {reason}")));
        let next = panel.why.next.worded(&crate::wording::CommandLine);
        if !next.is_empty() {
            lines.push(format!("Next: {next}"));
        }
        lines.push(String::new());
        if let Some(agent) = &card.agent {
            lines.push(format!("Agent   {agent}"));
        }
        let gates: Vec<_> = card.gates.iter().map(|g| format!("{} {}", g.name, g.mark)).collect();
        if !gates.is_empty() {
            lines.push(format!("Gates   {}", gates.join(", ")));
        }
        if !card.files.is_empty() {
            lines.push(format!("Files   {}", card.files.join(", ")));
        }
        lines.push(String::new());
        for line in panel.history.iter().take(HISTORY) {
            let reason = line.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            lines.push(format!("{:>5}  {} {}{reason}", line.seq, line.who, line.what));
        }
        Popup { title: format!("{} {}", card.id, card.status), lines, scrolled: 0, question: None }
    }

    /// Takes a key; the second value tells whether the popup stays.
    pub fn key(&mut self, code: KeyCode) -> (Then, bool) {
        match &mut self.question {
            Some(question) if question.writing => question.written(code),
            Some(question) => question.chosen(code),
            None => {
                match code {
                    KeyCode::Char('j') | KeyCode::Down => {
                        self.scrolled = self.scrolled.saturating_add(1);
                    }
                    KeyCode::Char('k') | KeyCode::Up => {
                        self.scrolled = self.scrolled.saturating_sub(1);
                    }
                    KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?') => {
                        return (Then::Nothing, false);
                    }
                    _ => {}
                }
                (Then::Nothing, true)
            }
        }
    }
}

impl Question {
    fn chosen(&mut self, code: KeyCode) -> (Then, bool) {
        match code {
            KeyCode::Char('j') | KeyCode::Down => {
                self.chosen = (self.chosen + 1).min(self.options.len());
            }
            KeyCode::Char('k') | KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Char(digit @ '1'..='9') => {
                let at = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
                self.chosen = at.min(self.options.len());
            }
            KeyCode::Enter => match self.options.get(self.chosen) {
                Some((key, _)) => {
                    return (Then::Answer { id: self.id.clone(), answer: key.clone() }, true);
                }
                None => self.writing = true,
            },
            KeyCode::Esc | KeyCode::Char('q') => return (Then::Nothing, false),
            _ => {}
        }
        (Then::Nothing, true)
    }

    fn written(&mut self, code: KeyCode) -> (Then, bool) {
        match code {
            KeyCode::Char(c) => self.text.push(c),
            KeyCode::Backspace => drop(self.text.pop()),
            KeyCode::Enter if !self.text.trim().is_empty() => {
                let answer = self.text.trim().to_owned();
                return (Then::Answer { id: self.id.clone(), answer }, true);
            }
            KeyCode::Esc if self.options.is_empty() => return (Then::Nothing, false),
            KeyCode::Esc => self.writing = false,
            _ => {}
        }
        (Then::Nothing, true)
    }
}
