//! Fills a sentence's template with the data of an answer.

use muster_model::Timestamp;
use serde_json::{Map, Value};

/// Fills a template with data. Values are inserted literally, never read as templates.
pub(crate) fn fill(template: &str, data: &Map<String, Value>, now: Timestamp) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, part)) = rest.split_once('[') {
        let (optional, after) = part.split_once(']').unwrap_or((part, ""));
        text.push_str(&filled(before, data, now).unwrap_or_default());
        text.push_str(&filled(optional, data, now).unwrap_or_default());
        rest = after;
    }
    text.push_str(&filled(rest, data, now).unwrap_or_default());
    text
}

/// Fills a part without brackets; `None` where a key is missing.
fn filled(template: &str, data: &Map<String, Value>, now: Timestamp) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, part)) = rest.split_once('{') {
        let (place, after) = part.split_once('}').unwrap_or((part, ""));
        text.push_str(before);
        text.push_str(&value_of(place, data, now)?);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

fn value_of(place: &str, data: &Map<String, Value>, now: Timestamp) -> Option<String> {
    let found = |key: &str| data.get(key).filter(|value| !value.is_null());
    if let Some((key, nouns)) = place.split_once('#') {
        let (one, many) = nouns.split_once('|').unwrap_or((nouns, nouns));
        let number = found(key)?.as_u64()?;
        return Some(format!("{number} {}", if number == 1 { one } else { many }));
    }
    if let Some((key, direction)) = place.split_once(':') {
        let moment = found(key)?.as_i64()?;
        return Some(span(if direction == "ago" { now.0 - moment } else { moment - now.0 }));
    }
    Some(match found(place)? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// A span in milliseconds as people write it; negative spans count as zero.
fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Q16: numbers get their nouns, moments become spans, what is missing takes its surroundings with it, and data are
    /// no templates.
    #[test]
    fn sentences_are_filled_in() {
        let Value::Object(data) =
            json!({"n": 1, "m": 2, "since": 0, "until": 200_000, "who": "{n}[", "none": null})
        else {
            panic!("an object")
        };
        for (template, expected) in [
            ("{n#job waits|jobs wait}", "1 job waits"),
            ("{m#job waits|jobs wait}", "2 jobs wait"),
            ("silent for {since:ago}, ends in {until:in}", "silent for 100 s, ends in 100 s"),
            ("{since:in} and {until:ago}", "0 s and 0 s"),
            ("{who} waits[: {none}][ or {n}]", "{n}[ waits or 1"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill(template, &data, Timestamp(100_000)), expected);
        }
    }

    #[test]
    fn spans_read_well() {
        let spans = [-5, 0, 119_999, 120_000, 7_200_000, 200_000_000].map(span);
        assert_eq!(spans, ["0 s", "0 s", "119 s", "2 min", "2 h", "2 days"]);
    }
}
