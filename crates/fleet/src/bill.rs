//! What the calls of a model cost: each call is settled once, and what the client says of the whole session corrects it.

use comity_core::command::ModelCall;
use comity_core::money::Usd;
use comity_core::run::{CostBasis, Tokens};
use std::collections::BTreeSet;

/// How a driver says what calls cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// For each call, or not at all.
    Calls,
    /// For the whole session, now and then.
    Totals,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    model: Option<String>,
    tokens: Tokens,
    usd: Option<Usd>,
}

/// The account of one run.
#[derive(Debug)]
pub(crate) struct Bill {
    says: Says,
    open: Vec<Call>,
    settled: BTreeSet<String>,
    /// What the session had cost before this run.
    before: Usd,
    /// What was settled so far, and what was settled too much.
    paid: Usd,
    ahead: Usd,
    totals: u64,
    /// Calls since the last total.
    unsure: bool,
}

impl Bill {
    pub(crate) fn new(says: Says, before: Usd) -> Bill {
        Bill {
            says,
            open: Vec::new(),
            settled: BTreeSet::new(),
            before,
            paid: Usd::ZERO,
            ahead: Usd::ZERO,
            totals: 0,
            unsure: false,
        }
    }

    fn call(&mut self, name: &str) -> Option<&mut Call> {
        if self.settled.contains(name) {
            return None;
        }
        if !self.open.iter().any(|call| call.name == name) {
            self.open.push(Call { name: name.to_owned(), ..Call::default() });
        }
        self.open.iter_mut().find(|call| call.name == name)
    }

    pub(crate) fn used(&mut self, name: &str, model: Option<String>, tokens: Tokens) {
        if let Some(call) = self.call(name) {
            (call.model, call.tokens) = (model, tokens);
        }
    }

    pub(crate) fn cost(&mut self, name: &str, usd: Usd) {
        if let Some(call) = self.call(name) {
            call.usd = Some(usd);
        }
    }

    /// Returns what is to be settled now.
    pub(crate) fn due(&mut self, price: impl Fn(&str, Tokens) -> Option<Usd>) -> Vec<ModelCall> {
        let mut due = Vec::new();
        for call in std::mem::take(&mut self.open) {
            let priced = call.model.as_deref().and_then(|model| price(model, call.tokens));
            let (usd, basis) = match (self.says, call.usd, priced) {
                (_, Some(usd), _) => (Some(usd), CostBasis::Reported),
                (Says::Calls, None, Some(usd)) => (Some(usd), CostBasis::Priced),
                (Says::Calls, None, None) => (None, CostBasis::Unpriced),
                // The total says what it was in the end.
                (Says::Totals, None, priced) => {
                    let price = priced.unwrap_or_default();
                    let usd = price.less(self.ahead);
                    self.ahead = self.ahead.less(price);
                    self.unsure = true;
                    (Some(usd), CostBasis::Reported)
                }
            };
            self.paid = self.paid.plus(usd.unwrap_or_default());
            self.settled.insert(call.name.clone());
            due.push(ModelCall { call: call.name, tokens: call.tokens, usd, basis });
        }
        due
    }

    /// Takes what the client says of the session; returns what is missing. What was paid too much counts for later calls.
    /// All calls before it have to be settled.
    pub(crate) fn total(&mut self, total: Usd) -> Option<ModelCall> {
        let cost = total.less(self.before);
        self.unsure = false;
        self.ahead = self.paid.less(cost);
        let missing = cost.less(self.paid);
        if missing == Usd::ZERO {
            return None;
        }
        self.totals += 1;
        self.paid = self.paid.plus(missing);
        let (call, tokens) = (format!("total-{}", self.totals), Tokens::default());
        Some(ModelCall { call, tokens, usd: Some(missing), basis: CostBasis::Reported })
    }

    /// Returns what marks the sum as an estimate: the client ended before it said what its last calls cost.
    pub(crate) fn ended(&mut self) -> Option<ModelCall> {
        let unsure = std::mem::take(&mut self.unsure);
        (unsure && self.says == Says::Totals).then(|| ModelCall {
            call: format!("end-{}", self.totals),
            tokens: Tokens::default(),
            usd: Some(Usd::ZERO),
            basis: CostBasis::Estimated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cents(cents: u64) -> Usd {
        Usd::from_micros(cents * 10_000)
    }

    fn tokens(output: u64) -> Tokens {
        Tokens { output, ..Tokens::default() }
    }

    /// Ten cents for a token.
    fn price(model: &str, tokens: Tokens) -> Option<Usd> {
        (model == "m").then(|| cents(10 * tokens.output))
    }

    fn sum(calls: &[ModelCall]) -> Usd {
        calls.iter().filter_map(|call| call.usd).sum()
    }

    #[test]
    fn a_call_counts_once_and_what_the_client_says_beats_the_price_list() {
        let mut bill = Bill::new(Says::Calls, Usd::ZERO);
        bill.used("a", Some("m".to_owned()), tokens(2));
        bill.cost("a", cents(7));
        bill.used("b", Some("m".to_owned()), tokens(2));
        bill.used("c", Some("unknown".to_owned()), tokens(2));
        let due = bill.due(price);
        let told: Vec<_> = due.iter().map(|call| (call.usd, call.basis)).collect();
        let expected = [
            (Some(cents(7)), CostBasis::Reported),
            (Some(cents(20)), CostBasis::Priced),
            (None, CostBasis::Unpriced),
        ];
        assert_eq!(told, expected);
        bill.used("a", Some("m".to_owned()), tokens(9));
        assert_eq!(bill.due(price), []);
    }

    #[test]
    fn the_total_of_a_session_corrects_the_prices_both_ways_and_earlier_runs_are_not_paid_again() {
        let mut bill = Bill::new(Says::Totals, cents(50));
        bill.used("a", Some("m".to_owned()), tokens(1));
        bill.used("b", None, tokens(1));
        let mut paid = sum(&bill.due(price));
        assert_eq!(paid, cents(10));
        let missing = bill.total(cents(75));
        paid = paid.plus(sum(&Vec::from_iter(missing)));
        assert_eq!(paid, cents(25));
        bill.used("c", Some("m".to_owned()), tokens(4));
        paid = paid.plus(sum(&bill.due(price)));
        assert_eq!(paid, cents(65));
        assert_eq!(bill.total(cents(80)), None, "35 cents too much were paid");
        bill.used("d", Some("m".to_owned()), tokens(5));
        paid = paid.plus(sum(&bill.due(price)));
        assert_eq!(paid, cents(80), "they count for the next call");
        assert_eq!(bill.ended().map(|call| call.basis), Some(CostBasis::Estimated));
        assert_eq!(bill.ended(), None);
    }
}
