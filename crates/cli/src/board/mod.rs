//! `comity board`: the board in a terminal. It reads the store itself, follows the log, and answers questions in place.
//!
//! One thread draws. Others wait for keys, for events and for signals, and tell it. The terminal is given back however
//! the board ends.

mod draw;
mod popup;
mod scene;
mod state;

use crate::env::no_signals;
use crate::human::Screen;
use crate::output::{self, Reply};
use comity_api::{AnswerDecision, BoardAnswer, BoardFilter, ById, EventView, TailEvents, op};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Handler, Service, Stop, StreamHandler};
use comity_project::Context;
use comity_project::store::Access;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use scene::Scene;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use state::{State, Then};
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How often ages are drawn again.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// The store is asked at most so often, however much happens.
const ASK_AT_MOST_EVERY: Duration = Duration::from_millis(100);
/// The store is asked at least so often: signs of life are not in the log.
const ASK_AT_LEAST_EVERY: Duration = Duration::from_secs(10);
/// How long the tail waits before it tries again.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// A board that was told to end and did not is ended after so long.
const END_WITHIN: Duration = Duration::from_secs(2);
/// What may wait to be handled.
const QUEUE_MAX: usize = 256;
/// The exit status of a program that a signal ended is the signal's number and this.
const BY_SIGNAL: i32 = 128;

/// What the drawing thread is told.
enum Told {
    Key(KeyEvent),
    /// Something has changed, here or in the store: look again.
    Look,
    /// A signal, or the end of the keyboard.
    End(i32),
}

pub fn run(context: &Context, json: bool) -> Result<Reply, Refusal> {
    if json || !crate::env::has_screen() {
        let answer = context.ask::<op::Board>(BoardFilter::default())?;
        return Ok(Reply::new(answer, in_words).paged());
    }
    let access = if context.is_past() { Access::Read } else { Access::Write };
    let service = context.service(access)?;
    let mut scene = Scene::gather(context, &service)?;
    let (tell, told) = sync_channel(QUEUE_MAX);
    let changed = Arc::new(AtomicBool::new(false));
    on_signals(tell.clone())?;
    if !context.is_past() {
        follow(context, service.clone(), tell.clone(), changed.clone());
    }
    let mut terminal = Screened::enter()?;
    on_keys(tell);
    let mut board = Board { context, service: &service, changed: &changed, asked: Instant::now() };
    let ended = board.show(&mut terminal.0, &mut scene, &told);
    drop(terminal);
    match ended? {
        0 => Ok(Reply::printed()),
        signal => Ok(Reply::printed().exit(u8::try_from(BY_SIGNAL + signal).unwrap_or(1))),
    }
}

/// The board where nobody sits in front of it.
fn in_words(answer: &BoardAnswer, _: &Screen) -> String {
    let mut out = String::new();
    for card in &answer.cards {
        let agent = card.agent.as_deref().unwrap_or("-");
        let _ = writeln!(out, "{}\t{}\t{agent}\t{}", card.id, card.column, card.title);
    }
    out
}

/// The terminal while the board is on it.
struct Screened(DefaultTerminal);

impl Screened {
    fn enter() -> Result<Screened, Refusal> {
        // This also makes a panic give the terminal back before it speaks.
        ratatui::try_init().map(Screened).map_err(|error| lost(&error))
    }
}

impl Drop for Screened {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn lost(error: &io::Error) -> Refusal {
    Refusal::new(Code::Internal, format!("the terminal cannot be used: {error}"))
        .hint("look at it without a terminal: pipe it, or ask for JSON")
}

fn on_keys(tell: SyncSender<Told>) {
    std::thread::spawn(move || {
        loop {
            let told = match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Told::Key(key),
                Ok(Event::Resize(..)) => Told::Look,
                Ok(_) => continue,
                Err(_) => Told::End(SIGHUP),
            };
            let is_end = matches!(told, Told::End(_));
            if tell.send(told).is_err() || is_end {
                return;
            }
        }
    });
}

fn on_signals(tell: SyncSender<Told>) -> Result<(), Refusal> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(no_signals)?;
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let _ = tell.try_send(Told::End(signal));
        std::thread::sleep(END_WITHIN);
        // The drawing thread waits for something that does not come.
        ratatui::restore();
        std::process::exit(BY_SIGNAL + signal);
    });
    Ok(())
}

/// Tells of every event, and goes on when the store or the server was away.
fn follow(context: &Context, service: Service, tell: SyncSender<Told>, changed: Arc<AtomicBool>) {
    let caller = context.caller();
    std::thread::spawn(move || {
        loop {
            let (tell, told) = (tell.clone(), changed.clone());
            let sink = Box::new(move |_: &EventView| {
                told.store(true, Ordering::SeqCst);
                // A full queue has enough to wake up for.
                let _ = tell.try_send(Told::Look);
                true
            });
            let (input, stop) = (TailEvents { from: None }, Stop::default());
            drop(StreamHandler::<op::EventTail>::stream(&service, &caller, input, sink, &stop));
            changed.store(true, Ordering::SeqCst);
            std::thread::sleep(TRY_AGAIN);
        }
    });
}

struct Board<'a> {
    context: &'a Context,
    service: &'a Service,
    changed: &'a AtomicBool,
    /// When the store was asked last.
    asked: Instant,
}

impl Board<'_> {
    /// Draws until it is to end; returns the signal that ended it, or 0.
    fn show(
        &mut self,
        terminal: &mut DefaultTerminal,
        scene: &mut Scene,
        told: &Receiver<Told>,
    ) -> Result<i32, Refusal> {
        let mut state = State::new(output::is_coloured());
        loop {
            let wait = self.refresh(scene, &mut state);
            fail_if_asked();
            terminal
                .draw(|frame| draw::all(frame, scene, &mut state))
                .map_err(|error| lost(&error))?;
            match told.recv_timeout(wait) {
                Ok(Told::Key(key)) => match state.key(key, scene) {
                    Then::Nothing => {}
                    Then::End => return Ok(0),
                    Then::Open(task) => self.open(&task, &mut state),
                    Then::Answer { id, answer } => self.answer(&id, &answer, &mut state),
                },
                Ok(Told::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Told::End(signal)) => return Ok(signal),
                Err(RecvTimeoutError::Disconnected) => return Ok(SIGHUP),
            }
        }
    }

    /// Asks the store where it is time to; returns how long nothing has to be done.
    fn refresh(&mut self, scene: &mut Scene, state: &mut State) -> Duration {
        let age = self.asked.elapsed();
        let is_changed = self.changed.load(Ordering::SeqCst);
        let is_old = age >= ASK_AT_LEAST_EVERY && !self.context.is_past();
        if is_changed && age < ASK_AT_MOST_EVERY {
            return ASK_AT_MOST_EVERY.saturating_sub(age);
        }
        if is_changed || is_old {
            self.changed.store(false, Ordering::SeqCst);
            self.asked = Instant::now();
            match Scene::gather(self.context, self.service) {
                Ok(new) => {
                    *scene = new;
                    state.trouble = None;
                }
                Err(refusal) => state.trouble = Some(refusal.message),
            }
        }
        DRAW_EVERY
    }

    fn open(&self, task: &str, state: &mut State) {
        let asked = self
            .service
            .call::<op::TaskPanel>(&self.context.caller(), ById { id: task.to_owned() });
        match asked.and_then(scene::safe) {
            Ok(panel) => state.open_task(&panel),
            Err(refusal) => state.say(&refusal.message),
        }
    }

    fn answer(&self, id: &str, answer: &str, state: &mut State) {
        let input = AnswerDecision { id: id.to_owned(), answer: answer.to_owned() };
        let caller = self.context.caller();
        match Handler::<op::DecisionAnswerOne>::handle(self.service, &caller, input) {
            Ok(_) => {
                state.answered(id, answer);
                self.changed.store(true, Ordering::SeqCst);
            }
            Err(refusal) => state.say(&refusal.message),
        }
    }
}

/// Lets the tests see what is left of the terminal after a panic.
fn fail_if_asked() {
    #[cfg(debug_assertions)]
    #[expect(clippy::panic, reason = "this is what the test is about")]
    if crate::env::var("COMITY_TEST_BOARD_PANICS").is_ok_and(|asked| asked.is_some()) {
        panic!("the board was asked to panic");
    }
}
