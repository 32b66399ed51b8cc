//! Columns that hold what a worker has, or a job asks for (P14), in a form that loses nothing.
//!
//! A JSON list of pairs: a name, and a whole number (the place of an amount in the order of numbers) or a text
//! (anything else, as canonical JSON). Nothing at all is no text.

use muster_model::{Quality, Scale, Specs};
use serde_json::Value;

/// The text of qualities, as the columns `workers.specs` and `pool_jobs.demands` hold it.
#[must_use]
pub fn text(specs: &Specs) -> Option<String> {
    let pair = |(name, quality): (&str, &Quality)| match quality {
        Quality::Amount(scale) => Value::from(vec![Value::from(name), Value::from(scale.place())]),
        Quality::Exactly(text) => Value::from(vec![name, text]),
    };
    let pairs: Vec<Value> = specs.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| Value::from(pairs).to_string())
}

/// The qualities of a text.
pub(crate) fn parse(text: &str) -> Option<Specs> {
    let pairs = serde_json::from_str::<Value>(text).ok()?;
    let pairs = pairs.as_array()?.iter().map(|pair| {
        let [name, quality] = pair.as_array()?.as_slice() else {
            return None;
        };
        let quality = match quality {
            Value::String(text) => Quality::Exactly(text.as_str().into()),
            other => Quality::Amount(Scale::at(other.as_i64()?)),
        };
        Some((name.as_str()?.into(), quality))
    });
    pairs.collect::<Option<Vec<_>>>().map(Specs::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P14: what was asked for or offered is the same after a restart.
    #[test]
    fn nothing_is_lost() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            24.0,
            24.000_000_000_000_004,
            -3.5,
            0.1,
            9_007_199_254_740_993.0,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            f64::MAX,
            f64::MIN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        let amounts = numbers.into_iter().enumerate();
        let amounts =
            amounts.map(|(n, number)| (format!("n{n}").into(), Quality::Amount(Scale::new(number))));
        let texts = ["\"24\"", "null", "{\"a\":[1,\"기\"]}", "24", ""];
        let texts =
            texts.into_iter().map(|text| (format!("'{text}\n").into(), Quality::Exactly(text.into())));
        let specs = Specs::new(amounts.chain(texts).collect());
        let kept = text(&specs).unwrap();
        assert_eq!(parse(&kept), Some(specs), "{kept}");
        assert_eq!(text(&Specs::default()), None);
    }

    #[test]
    fn a_text_of_another_form_is_none() {
        for text in
            ["", "{}", "[1]", "[[1,2]]", "[[\"a\"]]", "[[\"a\",1,2]]", "[[\"a\",1.5]]", "[[\"a\",null]]"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
