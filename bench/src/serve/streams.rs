//! Writers that write, streams that listen, and whether each stream has every event once and in order.

use super::http::Conversation;
use crate::Outcome;
use crate::stats::ms;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What was seen.
pub struct Seen {
    pub rate: f64,
    pub answers: Vec<f64>,
    pub deliveries: Vec<f64>,
    pub delivered: usize,
    /// Streams that got every event once, in order.
    pub whole: usize,
    pub resumed: usize,
}

/// What one stream got.
#[derive(Default)]
struct Heard {
    /// The events with the time at which they came.
    events: Vec<(u64, Instant)>,
    resumed: usize,
}

fn head(address: &str, token: &str) -> Outcome<u64> {
    let (_, body) = Conversation::open(address, token)?.ask("GET /api/v1/log/head", "")?;
    let head: Value = serde_json::from_slice(&body)?;
    Ok(head.get("seq").and_then(Value::as_u64).ok_or("no head")?)
}

/// Listens until an event; a stream that breaks is taken up where it was.
fn listen(address: &str, token: &str, from: u64, until: &AtomicU64) -> Outcome<Heard> {
    let mut heard = Heard::default();
    let mut last = from;
    loop {
        let mut talk = Conversation::open(address, token)?;
        talk.send("GET /api/v1/events/stream", &format!("Last-Event-ID: {last}\r\n"), "")?;
        let (status, _) = talk.answer()?;
        if status != 200 {
            return Err(format!("a stream was answered with {status}").into());
        }
        let mut line = String::new();
        while talk.line(&mut line)? {
            let Some(id) = line.strip_prefix("id: ") else { continue };
            last = id.trim().parse()?;
            heard.events.push((last, Instant::now()));
            if last >= until.load(Ordering::SeqCst) {
                return Ok(heard);
            }
        }
        heard.resumed += 1;
    }
}

/// Writes notes one after the other; returns how long each took, and keeps when each was sent under its seq.
fn write(
    address: &str,
    token: &str,
    writer: usize,
    each: usize,
    sent: &Mutex<HashMap<u64, Instant>>,
) -> Outcome<Vec<f64>> {
    let mut talk = Conversation::open(address, token)?;
    let mut times = Vec::with_capacity(each);
    for number in 0..each {
        let note = json!({"type": "progress", "text": format!("{writer} {number}")});
        let start = Instant::now();
        let (status, body) = talk.ask("POST /api/v1/notes", &note.to_string())?;
        times.push(ms(start.elapsed()));
        if status != 200 {
            return Err(format!("a note was answered with {status}").into());
        }
        let answer: Value = serde_json::from_slice(&body)?;
        let seq = answer.pointer("/event/seq").and_then(Value::as_u64).ok_or("no seq")?;
        sent.lock().map_err(|_| "a writer died")?.insert(seq, start);
    }
    Ok(times)
}

pub fn run(
    address: &str,
    token: &str,
    streams: usize,
    writers: usize,
    each: usize,
) -> Outcome<Seen> {
    // The first note registers the agent; it is not counted.
    let sent = Mutex::default();
    write(address, token, 0, 1, &sent)?;
    sent.lock().map_err(|_| "a writer died")?.clear();
    let from = head(address, token)?;
    let until = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        let (until, sent) = (&until, &sent);
        let listeners: Vec<_> = (0..streams)
            .map(|_| scope.spawn(move || listen(address, token, from, until)))
            .collect();
        std::thread::sleep(std::time::Duration::from_secs(2));
        let begin = Instant::now();
        let writing: Vec<_> = (0..writers)
            .map(|writer| scope.spawn(move || write(address, token, writer, each, sent)))
            .collect();
        let mut answers = Vec::new();
        for thread in writing {
            answers.extend(thread.join().map_err(|_| "a writer died")??);
        }
        let took = begin.elapsed().as_secs_f64();
        // Streams end with the last event; one more wakes those that have it already.
        let end = head(address, token)?;
        until.store(end, Ordering::SeqCst);
        write(address, token, writers, 1, &Mutex::default())?;
        let (mut whole, mut resumed, mut delivered) = (0, 0, 0);
        let mut deliveries = Vec::new();
        let sent = sent.lock().map_err(|_| "a writer died")?;
        for thread in listeners {
            let heard = thread.join().map_err(|_| "a stream died")??;
            let ids = heard.events.iter().map(|(id, _)| *id);
            whole += usize::from(ids.take_while(|id| *id <= end).eq(from + 1..=end));
            resumed += heard.resumed;
            delivered += heard.events.len();
            let waits = heard.events.iter().filter_map(|(id, at)| {
                sent.get(id).map(|start| ms(at.saturating_duration_since(*start)))
            });
            deliveries.extend(waits);
        }
        #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
        let rate = answers.len() as f64 / took;
        Ok(Seen { rate, answers, deliveries, delivered, whole, resumed })
    })
}
