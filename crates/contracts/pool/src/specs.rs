//! Specs of a worker and requirements of a job, by name (P14).

use muster_model::{Quality, Scale, Specs};
use muster_proof::json::Value;

/// Reads an object: a number is an amount, anything else is itself.
pub(super) fn specs(object: &Value<'_>) -> Specs {
    let entries = object.as_object().map(|object| object.entries()).unwrap_or_default();
    Specs::new(entries.iter().map(|entry| (entry.key.as_ref().into(), quality(&entry.value))).collect())
}

fn quality(value: &Value<'_>) -> Quality {
    match value.as_f64() {
        Some(number) => Quality::Amount(Scale::new(number)),
        None => Quality::Exactly(canonical(value)),
    }
}

/// The canonical form, in which what means the same reads the same.
fn canonical(value: &Value<'_>) -> Box<str> {
    let mut bytes = Vec::new();
    value.write_canonical(&mut bytes);
    String::from_utf8(bytes).expect("canonical JSON is text").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Specs {
        specs(&muster_proof::json::parse(text.as_bytes()).unwrap())
    }

    /// P14: numbers at least, else equal, however it is written.
    #[test]
    fn requirements_are_met_by_specs() {
        let has = of(
            r#"{"vram_gb": 24, "gpu": "A100", "features": {"b": 1, "a": [2.0]}, "spot": false, "x": null}"#,
        );
        for (requires, met) in [
            (r#"{"vram_gb": 16}"#, true),
            (r#"{"vram_gb": 24.0}"#, true),
            (r#"{"vram_gb": 24.5}"#, false),
            (r#"{"vram_gb": "24"}"#, false),
            (r#"{"gpu": "\u0041100"}"#, true),
            (r#"{"gpu": "H100"}"#, false),
            (r#"{"features": {"a":[2.0],"b":1}}"#, true),
            (r#"{"spot": false}"#, true),
            (r#"{"spot": 0}"#, false),
            (r#"{"x": null}"#, true),
            (r#"{"cores": 1}"#, false),
            ("{}", true),
        ] {
            assert_eq!(has.meet(&of(requires)), met, "{requires}");
        }
    }
}
