//! Seats: one process at a time has each, and does what it does under its fence.

use super::{Answer, Rule};
use crate::command::SeatChange;
use crate::event::{Event, SeatLeft, SeatTaken};
use crate::facts::Ruling;
use crate::ids::Fence;
use crate::limits::{TTL_MAX, TTL_MIN};
use crate::refusal::{Code, Refusal};
use crate::seat::{Seat, verb};
use crate::time::Millis;

pub(super) fn check(change: &SeatChange) -> Result<(), Refusal> {
    match change {
        SeatChange::Take { seat, ttl } => {
            verb(seat)?;
            if *ttl < TTL_MIN || *ttl > TTL_MAX {
                let text = format!("a seat is kept for {TTL_MIN} to {TTL_MAX}, not {ttl}");
                return Err(Refusal::input(text));
            }
            Ok(())
        }
        SeatChange::Leave { seat, .. } => verb(seat).map(drop),
    }
}

impl Rule<'_> {
    pub(super) fn change_seat(&mut self, change: &SeatChange) -> Ruling<Answer> {
        match change {
            SeatChange::Take { seat, ttl } => self.take_seat(seat, *ttl),
            SeatChange::Leave { seat, reason } => self.leave_seat(seat, reason.as_ref()),
        }
    }

    fn seat(&self, name: &str) -> Ruling<Option<Seat>> {
        Ok(self.facts.counters(&self.request.repo)?.seats.get(name).cloned())
    }

    /// Takes a seat that is free: nobody has it, its holder was not heard of for too long, or the door saw that the
    /// holder's process has ended.
    fn take_seat(&mut self, name: &str, ttl: Millis) -> Ruling<Answer> {
        self.require(verb(name)?)?;
        if let Some(seat) = self.seat(name)? {
            let is_dead = self.request.observed.dead == Some(seat.fence);
            let until = self.facts.seat_expiry(&seat)?;
            if !is_dead && until > self.now() {
                return Err(held(name, &seat).into());
            }
            let why = if is_dead { "its process has ended" } else { "it was not heard of" };
            let body = SeatLeft { seat: name.to_owned(), reason: Some(why.to_owned()) };
            self.push(None, Event::SeatLeft(body));
        }
        let fence = Fence::new(self.next_seq())
            .ok_or_else(|| Refusal::new(Code::Internal, "no seq is left"))?;
        let host = self.request.via.host.clone();
        let body = SeatTaken { seat: name.to_owned(), host, fence, ttl };
        self.push(None, Event::SeatTaken(body));
        Ok(Answer::Seat(name.to_owned()))
    }

    fn leave_seat(&mut self, name: &str, reason: Option<&String>) -> Ruling<Answer> {
        self.sits(name)?;
        let body = SeatLeft { seat: name.to_owned(), reason: reason.cloned() };
        self.push(None, Event::SeatLeft(body));
        Ok(Answer::Seat(name.to_owned()))
    }

    /// Whoever acts from a seat names the fence under which it has the seat.
    pub(super) fn sits(&self, name: &str) -> Ruling<()> {
        let seat = self.seat(name)?;
        let actor = &self.request.actor;
        if seat.is_some_and(|seat| seat.holder == *actor && Some(seat.fence) == self.request.fence)
        {
            return Ok(());
        }
        let message = format!("{actor} does not have the seat {name} under this fence");
        let fence = self.request.fence.map(Fence::get);
        Err(Refusal::new(Code::StaleFence, message)
            .hint("another process has the seat by now; take it again")
            .detail("seat", name)
            .detail("fence", fence)
            .into())
    }
}

fn held(name: &str, seat: &Seat) -> Refusal {
    let place = seat.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let message = format!("{}{place} has the seat {name} since {}", seat.holder, seat.since);
    Refusal::new(Code::SeatHeld, message)
        .detail("seat", name)
        .detail("holder", seat.holder.as_str())
        .detail("host", seat.host.clone())
        .detail("fence", seat.fence.get())
        .detail("since", seat.since.to_string())
}
