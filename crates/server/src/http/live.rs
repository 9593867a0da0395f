//! Streams of events: each reader gets every event once and in order, and before the events of a commit the cards that
//! they changed. One task for each project reads the log and hands what is new to all streams.

use crate::Served;
use crate::runtime::blocking;
use axum::body::Bytes;
use comity_api::{
    BoardAnswer, BoardFilter, Card, CardsMessage, EventFilter, EventView, PresenceMessage,
    ResetMessage, Since, TailEvents, op,
};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_engine::{Caller, Stop, StreamHandler};
use hyper::body::{Body, Frame};
use serde::Serialize;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

/// Messages that a slow reader may be behind before its stream is closed; it comes back and goes on where it was.
const BUFFERED_MAX: usize = 1_024;
/// Events between the hub and the task that computes cards.
const INTAKE_MAX: usize = 4_096;
/// Events that are put together before cards are computed.
const TOGETHER_MAX: usize = 256;
/// A comment is sent after so much time without anything else.
const BEAT_EVERY: Duration = Duration::from_secs(15);
/// Whether a reader may still read is looked at so often, before it gets more.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Signs of life are sent at most so often.
const PRESENCE_EVERY: Duration = Duration::from_secs(10);
/// With more missed events than this a reader gets every card.
const MISSED_MAX: u64 = 500;

/// The streams of one project.
pub struct Live {
    served: Served,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    streams: Vec<Sender<Bytes>>,
    /// The last event that streams were handed.
    seq: u64,
    /// Ends the task that reads; none while nobody listens.
    stop: Option<Stop>,
    ended: bool,
}

/// What the board shows, as far as its counts go.
#[derive(Default)]
struct Tally(HashMap<String, (String, bool)>);

impl Tally {
    fn of(cards: &[Card]) -> Tally {
        let entry = |card: &Card| (card.id.clone(), (card.column.clone(), card.ready));
        Tally(cards.iter().map(entry).collect())
    }

    /// Takes changes over, and completes the message with the counts after them.
    fn complete(&mut self, message: &mut CardsMessage, columns: &[comity_api::Column]) {
        for card in &message.cards {
            self.0.insert(card.id.clone(), (card.column.clone(), card.ready));
        }
        message.gone.iter().for_each(|id| drop(self.0.remove(id)));
        let count = |name: &str| self.0.values().filter(|(column, _)| column == name).count();
        let counted = columns
            .iter()
            .map(|column| comity_api::Column { count: count(&column.name), ..column.clone() });
        message.columns = counted.collect();
        message.tasks = self.0.len();
        message.ready = self.0.values().filter(|(_, ready)| *ready).count();
    }
}

fn frame(event: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Bytes::from(format!("event: {event}\n{id}data: {data}\n\n"))
}

impl Live {
    pub fn new(served: Served) -> Arc<Live> {
        Arc::new(Live { served, state: Mutex::default() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn caller(&self) -> Caller {
        self.served.context.caller()
    }

    /// Begins a stream with the first event after a place; none is with the next event.
    pub async fn open(
        self: &Arc<Live>,
        after: Option<u64>,
        may: May,
        permit: OwnedSemaphorePermit,
    ) -> Result<Stream, Refusal> {
        let (live, from) = self.attach()?;
        let (out, frames) = channel(BUFFERED_MAX);
        let this = self.clone();
        tokio::spawn(async move { this.feed(after, from, live, out).await });
        let start = tokio::time::Instant::now() + BEAT_EVERY;
        let mut beat = interval_at(start, BEAT_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let looked = Instant::now();
        Ok(Stream { frames, beat, next: None, may, looked, look: None, _permit: permit })
    }

    /// Joins the streams. What is returned gets everything after the place that is returned, too.
    fn attach(self: &Arc<Live>) -> Result<(Receiver<Bytes>, u64), Refusal> {
        let (sender, receiver) = channel(BUFFERED_MAX);
        let mut state = self.lock();
        if state.ended {
            let ends = "the server ends";
            return Err(Refusal::new(comity_core::refusal::Code::StoreUnavailable, ends));
        }
        if state.stop.is_none() {
            let stop = Stop::default();
            let head =
                self.served.service.call::<op::LogHead>(&self.caller(), comity_api::Nothing {})?;
            state.seq = head.seq;
            let (intake, events) = channel(INTAKE_MAX);
            let sink = Box::new(move |event: &EventView| intake.try_send(event.clone()).is_ok());
            let from = Some(state.seq + 1);
            let service = &self.served.service;
            StreamHandler::<op::EventTail>::stream(
                service,
                &self.caller(),
                TailEvents { from },
                sink,
                &stop,
            )?;
            state.stop = Some(stop);
            tokio::spawn(self.clone().run(events));
        }
        state.streams.push(sender);
        Ok((receiver, state.seq))
    }

    /// Sends what a reader missed, then what is new.
    async fn feed(
        self: Arc<Live>,
        after: Option<u64>,
        from: u64,
        mut live: Receiver<Bytes>,
        out: Sender<Bytes>,
    ) {
        let after = after.unwrap_or(from);
        if after > from {
            // The reader knows events that this log does not have: it is another log.
            let reset = frame("reset", None, &ResetMessage { head: from });
            if out.send(reset).await.is_err() {
                return;
            }
        } else if after < from && self.replay(after, from, &out).await.is_err() {
            return;
        }
        while let Some(bytes) = live.recv().await {
            if out.send(bytes).await.is_err() {
                return;
            }
        }
    }

    /// Sends the events after a place up to another, and before them the cards that they changed.
    async fn replay(&self, after: u64, to: u64, out: &Sender<Bytes>) -> Result<(), Gone> {
        let (served, caller) = (self.served.clone(), self.caller());
        let cards = blocking(move || cards_since(&served, &caller, after, to)).await;
        out.send(frame("cards", None, &cards.map_err(|_| Gone)?)).await.map_err(|_| Gone)?;
        let mut at = after;
        while at < to {
            let (served, caller) = (self.served.clone(), self.caller());
            let filter = EventFilter {
                since: Some(Since::Seq(at)),
                limit: Some(PAGE_MAX),
                ..EventFilter::default()
            };
            let page =
                blocking(move || served.service.call::<op::EventList>(&caller, filter)).await;
            let page = page.map_err(|_| Gone)?;
            for event in page.events.iter().filter(|event| event.seq <= to) {
                out.send(frame("log", Some(event.seq), event)).await.map_err(|_| Gone)?;
            }
            match page.events.last() {
                Some(last) if page.next.is_some() => at = last.seq,
                _ => break,
            }
        }
        Ok(())
    }

    /// Hands new events to all streams until nobody listens.
    async fn run(self: Arc<Live>, mut events: Receiver<EventView>) {
        let (served, caller) = (self.served.clone(), self.caller());
        let first =
            blocking(move || served.service.call::<op::Board>(&caller, BoardFilter::default()));
        let board = first.await;
        let (mut tally, columns) = match board {
            Ok(BoardAnswer { cards, columns, .. }) => (Tally::of(&cards), columns),
            Err(_) => (Tally::default(), Vec::new()),
        };
        let mut presence = tokio::time::interval(PRESENCE_EVERY);
        presence.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut signs: Option<PresenceMessage> = None;
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                count = events.recv_many(&mut batch, TOGETHER_MAX) => {
                    if count == 0 { break }
                    self.hand_out(&mut batch, &mut tally, &columns).await;
                }
                _ = presence.tick() => self.hand_out_signs(&mut signs).await,
            }
            let mut state = self.lock();
            state.streams.retain(|stream| !stream.is_closed());
            if state.streams.is_empty() {
                state.stop.take().iter().for_each(Stop::stop);
                return;
            }
        }
        // Whoever listens comes back and goes on where it was.
        let mut state = self.lock();
        state.streams.clear();
        state.stop = None;
    }

    async fn hand_out(
        &self,
        batch: &mut Vec<EventView>,
        tally: &mut Tally,
        columns: &[comity_api::Column],
    ) {
        let Some(last) = batch.last().map(|event| event.seq) else { return };
        let after = batch.first().map_or(last, |event| event.seq) - 1;
        let (served, caller) = (self.served.clone(), self.caller());
        let cards = blocking(move || served.service.changed_cards(&caller, after)).await;
        let mut frames = Vec::with_capacity(batch.len() + 1);
        if let Ok(mut cards) = cards {
            tally.complete(&mut cards, columns);
            frames.push(frame("cards", None, &cards));
        }
        frames.extend(batch.drain(..).map(|event| frame("log", Some(event.seq), &event)));
        let mut state = self.lock();
        state.seq = last;
        send_all(&mut state.streams, &frames);
    }

    /// Sends signs of life if there are new ones.
    async fn hand_out_signs(&self, last: &mut Option<PresenceMessage>) {
        let (served, caller) = (self.served.clone(), self.caller());
        let Ok(now) = blocking(move || served.service.signs_of_life(&caller)).await else { return };
        let is_new = last.as_ref().is_none_or(|last| last.agents != now.agents);
        if is_new {
            let message = frame("presence", None, &now);
            send_all(&mut self.lock().streams, &[message]);
            *last = Some(now);
        }
    }

    /// Ends all streams; their readers come back to whoever serves next.
    pub fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.streams.clear();
        state.stop.take().iter().for_each(Stop::stop);
    }
}

/// Hands frames to every stream. One that does not keep up is closed.
fn send_all(streams: &mut Vec<Sender<Bytes>>, frames: &[Bytes]) {
    streams.retain(|stream| frames.iter().all(|frame| stream.try_send(frame.clone()).is_ok()));
}

/// The reader has gone, or the store cannot be read.
struct Gone;

fn cards_since(
    served: &Served,
    caller: &Caller,
    after: u64,
    to: u64,
) -> Result<CardsMessage, Refusal> {
    let board = served.service.call::<op::Board>(caller, BoardFilter::default())?;
    let mut message = served.service.changed_cards(caller, after)?;
    let mut tally = Tally::of(&board.cards);
    if to - after > MISSED_MAX {
        message.cards.clone_from(&board.cards);
    }
    tally.complete(&mut message, &board.columns);
    Ok(message)
}

/// Tells whether the reader of a stream may still read: its token may have been revoked, its session closed.
pub type May = Arc<dyn Fn() -> bool + Send + Sync>;

/// The body of an answer that does not end by itself.
pub struct Stream {
    frames: Receiver<Bytes>,
    beat: Interval,
    /// What is sent once it is known that the reader may read.
    next: Option<Bytes>,
    may: May,
    /// When it was last looked at whether the reader may read, and the look that is under way.
    looked: Instant,
    look: Option<JoinHandle<bool>>,
    _permit: OwnedSemaphorePermit,
}

impl Stream {
    /// Looks now and then whether the reader may still read; the look may wait for the store, so it has a thread.
    fn may_go_on(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.look.is_none() && self.looked.elapsed() >= LOOK_EVERY {
            let may = self.may.clone();
            self.looked = Instant::now();
            self.look = Some(tokio::task::spawn_blocking(move || may()));
        }
        let Some(look) = &mut self.look else { return Poll::Ready(true) };
        let may = ready!(Pin::new(look).poll(cx)).unwrap_or(false);
        self.look = None;
        Poll::Ready(may)
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.next.is_none() {
            self.next = match self.frames.poll_recv(cx) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    ready!(self.beat.poll_tick(cx));
                    Some(Bytes::from_static(b": still here\n\n"))
                }
            };
        }
        if !ready!(self.may_go_on(cx)) {
            return Poll::Ready(None);
        }
        self.beat.reset();
        Poll::Ready(self.next.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_too_far_behind_is_closed_and_the_others_go_on() {
        let (slow, mut behind) = channel(BUFFERED_MAX);
        let (quick, mut ahead) = channel(BUFFERED_MAX);
        let mut streams = vec![slow, quick];
        for seq in 0..=BUFFERED_MAX {
            send_all(&mut streams, &[Bytes::from(seq.to_string())]);
            assert!(ahead.try_recv().is_ok());
        }
        assert_eq!(streams.len(), 1);
        // It gets what was kept for it, and then the end: it comes back with the last that it has.
        let kept = std::iter::from_fn(|| behind.try_recv().ok()).count();
        assert!(kept == BUFFERED_MAX && behind.is_closed(), "{kept}");
    }
}
