//! The change of one task of the scene, as commits in git: its review has something to show.

use super::crew::Crew;
use comity_core::refusal::Refusal;
use std::path::Path;

/// The task whose change it is.
pub(super) const TASK: &str = "T112";

const RATES: &str = "crates/ledger/src/rates.rs";
const CURRENCY: &str = "crates/ledger/src/currency.rs";

const RATES_BEFORE: &str = "\
use crate::{Currency, Entry, Posting, Result};

impl Ledger {
    /// Posts an entry in the currency of the ledger.
    pub fn post(&mut self, p: Posting) -> Result<Entry> {
        let rate = self.rates.today(p.currency)?;
        Entry::new(p, rate)
    }

    pub fn rate_of(&self, currency: Currency) -> Option<Rate> {
        self.rates.latest(currency)
    }
}
";

const RATES_AFTER: &str = "\
use crate::{Currency, Entry, Posting, Result};

/// Digits of a rate that are kept.
const RATE_DECIMALS: u32 = 10;

impl Ledger {
    /// Posts an entry in the currency of the ledger, by the rate of the day on which it is booked.
    pub fn post(&mut self, p: Posting) -> Result<Entry> {
        let rate = self.rates.at(p.currency, p.booked_on)?;
        let rate = rate.round_to(RATE_DECIMALS);
        Entry::new(p, rate)
    }

    pub fn rate_of(&self, currency: Currency) -> Option<Rate> {
        self.rates.latest(currency)
    }

    /// Gives old postings the rate of their day.
    pub fn backfill(&mut self) -> Result<usize> {
        let missing = self.entries.without_rate();
        for entry in &missing {
            self.entries.set_rate(entry.id, self.rates.at(entry.currency, entry.booked_on)?)?;
        }
        Ok(missing.len())
    }
}
";

const CURRENCY_BEFORE: &str = "\
pub struct Currency {
    pub code: [u8; 3],
    pub digits: u32,
}

impl Currency {
    pub fn round(&self, amount: f64) -> f64 {
        let unit = 10f64.powi(self.digits as i32);
        (amount * unit).round() / unit
    }
}
";

const CURRENCY_AFTER: &str = "\
pub struct Currency {
    pub code: [u8; 3],
    pub digits: u32,
}

impl Currency {
    /// Rounds half to even. No float is in the money path.
    pub fn round(&self, amount: Decimal) -> Decimal {
        amount.round_dp_half_even(self.digits)
    }
}
";

const MIGRATION: &str = "\
alter table posting add column rate numeric(20, 10);
alter table posting add column rate_source text;
update posting set rate_source = 'backfill' where rate is null;
";

/// Commits the change beside the main branch; returns the commit that the scene begins with, and the one of the change.
pub(super) fn commit(crew: &Crew, tree: &Path) -> Result<(String, String), Refusal> {
    let save = |files: &[(&str, &str)], message: &str| {
        for (name, text) in files {
            crew.write(tree, name, text)?;
        }
        crew.git(tree, &["add", "--all", "crates", "migrations"])?;
        crew.git(tree, &["commit", "--quiet", "--message", message])?;
        crew.git(tree, &["rev-parse", "HEAD"])
    };
    let accounts = ("migrations/0040_accounts.sql", "create table account (id bigint);\n");
    let before = [(RATES, RATES_BEFORE), (CURRENCY, CURRENCY_BEFORE), accounts];
    let base = save(&before, "Begin the ledger")?;
    let main = crew.git(tree, &["symbolic-ref", "--short", "HEAD"])?;
    crew.git(tree, &["checkout", "--quiet", "-b", "feat/T112-store-the-exchange-rate"])?;
    let after = [
        (RATES, RATES_AFTER),
        (CURRENCY, CURRENCY_AFTER),
        ("migrations/0041_posting_rate.sql", MIGRATION),
    ];
    let change = save(&after, "Store the exchange rate with each posting")?;
    crew.git(tree, &["checkout", "--quiet", &main])?;
    Ok((base, change))
}
