//! Deliveries of webhooks on their way: passed on, lost, doubled, held back, or in another order.

use crate::http::{self, Request, Response};
use std::io::BufReader;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is passed on.
    Pass,
    /// It is lost.
    Drop,
    /// It comes twice, under one id.
    Double,
    /// It waits until `release` is called.
    Hold,
}

#[derive(Default)]
struct State {
    mode: Option<Delivery>,
    held: Vec<(usize, Request)>,
    sent: u64,
    answers: Vec<(String, u16)>,
}

/// The way of all deliveries.
#[derive(Clone)]
pub struct Hooks {
    state: Arc<Mutex<State>>,
    targets: Arc<dyn Fn(usize) -> Option<String> + Send + Sync>,
}

impl Hooks {
    pub(crate) fn start(
        listener: TcpListener,
        targets: Arc<dyn Fn(usize) -> Option<String> + Send + Sync>,
    ) -> Hooks {
        let hooks = Hooks { state: Arc::default(), targets };
        let known = hooks.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let known = known.clone();
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream);
                    while let Ok(Some(request)) = http::read_request(&mut reader) {
                        known.take(request);
                        let fine = Response { status: 200, ..Response::default() };
                        if http::write_response(reader.get_mut(), &fine).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        hooks
    }

    /// What becomes of deliveries from now on.
    pub fn set(&self, mode: Delivery) {
        self.state.lock().unwrap().mode = Some(mode);
    }

    /// Sends on what was held back, newest first.
    pub fn release(&self) {
        let held = std::mem::take(&mut self.state.lock().unwrap().held);
        for (target, request) in held.into_iter().rev() {
            self.deliver(target, &request);
        }
    }

    /// How many are held back.
    pub fn held(&self) -> usize {
        self.state.lock().unwrap().held.len()
    }

    /// The events that were delivered, with the statuses that the receiver gave.
    pub fn answers(&self) -> Vec<(String, u16)> {
        self.state.lock().unwrap().answers.clone()
    }

    fn take(&self, mut request: Request) {
        let Ok(target) = request.path().trim_start_matches('/').parse() else { return };
        let mut state = self.state.lock().unwrap();
        state.sent += 1;
        // The emulator counts where GitHub makes an id.
        let guid = format!("00000000-0000-4000-8000-{:012x}", state.sent);
        request.headers.retain(|(name, _)| name != "x-github-delivery");
        request.headers.push(("x-github-delivery".to_owned(), guid));
        let mode = state.mode.unwrap_or(Delivery::Pass);
        if mode == Delivery::Hold {
            state.held.push((target, request));
            return;
        }
        drop(state);
        let times = match mode {
            Delivery::Drop => 0,
            Delivery::Double => 2,
            Delivery::Pass | Delivery::Hold => 1,
        };
        for _ in 0..times {
            self.deliver(target, &request);
        }
    }

    fn deliver(&self, target: usize, request: &Request) {
        let Some(url) = (self.targets)(target) else { return };
        let rest = url.trim_start_matches("http://");
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let request = Request { target: format!("/{path}"), ..request.clone() };
        let status = http::call(&address.replace("localhost", "127.0.0.1"), &request)
            .map_or(0, |answer| answer.status);
        let event = request.header("x-github-event").unwrap_or_default().to_owned();
        self.state.lock().unwrap().answers.push((event, status));
    }
}
