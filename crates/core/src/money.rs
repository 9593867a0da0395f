//! Amounts of money. They are counted in millionths of a dollar, so that sums are exact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::iter::Sum;

const MICROS: u64 = 1_000_000;
/// The largest amount that is read. It leaves room for sums.
const DOLLARS_MAX: f64 = 1e9;

/// An amount of US dollars. In JSON it is a number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u64);

impl Usd {
    pub const ZERO: Usd = Usd(0);

    pub const fn from_micros(micros: u64) -> Usd {
        Usd(micros)
    }

    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Reads a number of dollars, rounded to a millionth.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the bounds are checked before"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Usd> {
        let fits = dollars.is_finite() && (0.0..=DOLLARS_MAX).contains(&dollars);
        fits.then(|| Usd((dollars * MICROS as f64).round() as u64))
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / MICROS as f64
    }

    #[must_use]
    pub fn plus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }

    /// Takes an amount away; nothing is left where it is too large.
    #[must_use]
    pub fn less(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0))
    }

    #[must_use]
    pub fn percent(self, percent: u64) -> Usd {
        Usd(self.0.saturating_mul(percent) / 100)
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::ZERO, Usd::plus)
    }
}

impl fmt::Display for Usd {
    /// Cents are always written, and smaller parts where there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = format!("{:06}", self.0 % MICROS);
        let shown = parts.trim_end_matches('0').len().max(2);
        write!(f, "${}.{}", self.0 / MICROS, &parts[..shown])
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Usd, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Usd::from_dollars(dollars)
            .ok_or_else(|| serde::de::Error::custom(format!("{dollars} is no amount of dollars")))
    }
}

impl schemars::JsonSchema for Usd {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "number"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_survives_json_and_reads_as_dollars() {
        for micros in [0, 1, 10_000, 299_999, 2_000_000, 123_456_789] {
            let amount = Usd::from_micros(micros);
            let text = serde_json::to_string(&amount).unwrap();
            assert_eq!(serde_json::from_str::<Usd>(&text).unwrap(), amount, "{text}");
        }
        assert_eq!(Usd::from_micros(1_230_000).to_string(), "$1.23");
        assert_eq!(Usd::from_micros(2_000_000).to_string(), "$2.00");
        assert_eq!(Usd::from_micros(1).to_string(), "$0.000001");
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["-0.01", "1e300", "\"2\"", "null"] {
            assert!(serde_json::from_str::<Usd>(text).is_err(), "{text}");
        }
    }
}
