//! What may stand on the command line.

use serde_json::Value;
use std::time::Duration;

/// P3: what a worker may be called.
pub(super) fn name(text: &str) -> Result<String, String> {
    within(text, 1..=120).ok_or_else(|| "a worker's name has 1 to 120 characters".to_owned())
}

/// P3: what a region may be called.
pub(super) fn region(text: &str) -> Result<String, String> {
    within(text, 1..=64).ok_or_else(|| "a region has 1 to 64 characters".to_owned())
}

/// P3: something that a worker can do.
pub(super) fn spec(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("write it KEY=JSON")?;
    if key == "slots" {
        return Err("slots are told with --slots".to_owned());
    }
    let value = serde_json::from_str(value)
        .map_err(|error| format!("{value} is no JSON ({error}); a text needs quotes: {key}='\"…\"'"))?;
    Ok((key.to_owned(), value))
}

/// A span, of which fractions are allowed.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=SECONDS_MAX).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("write seconds from 0.05 to {SECONDS_MAX}"))
}

fn within(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<String> {
    length.contains(&text.chars().count()).then(|| text.to_owned())
}

/// Thirty days.
const SECONDS_MAX: f64 = 2_592_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// P3: lengths are counted in code points.
    #[test]
    fn names_are_the_contracts() {
        assert!(name(&"ö".repeat(120)).is_ok() && region(&"ö".repeat(64)).is_ok());
        assert!(name("").is_err() && name(&"ö".repeat(121)).is_err() && region(&"ö".repeat(65)).is_err());
    }

    /// P3: specs are JSON; slots have a flag of their own.
    #[test]
    fn specs_are_json() {
        assert_eq!(spec("a=b=1").unwrap_err().split(' ').next(), Some("b=1"));
        assert_eq!(spec("gpu={\"n\":2}").unwrap(), ("gpu".to_owned(), json!({"n": 2})));
        assert!(spec("slots=2").is_err() && spec("=1").is_err() && spec("x").is_err());
    }

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        for wrong in ["0", "-1", "NaN", "inf", "1e99", "x"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
