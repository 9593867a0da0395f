//! Medians and percentiles, and how figures are written.

use std::time::Duration;

/// Returns the value at a fraction of the sorted values; zero when there are none.
pub fn at_fraction(values: &[f64], fraction: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list of measurements is small and not negative"
    )]
    let place = (fraction * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

/// Returns the median.
pub fn median(values: &[f64]) -> f64 {
    at_fraction(values, 0.5)
}

/// Returns the smallest value.
pub fn best(values: &[f64]) -> f64 {
    at_fraction(values, 0.0)
}

/// Returns milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Writes a whole number with thousands apart.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a count with thousands apart.
pub fn count(value: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    whole(value as f64)
}

/// Returns the CPU time that this process has used.
pub fn process_cpu() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Duration::from_secs(secs) + Duration::from_nanos(nanos)
}
