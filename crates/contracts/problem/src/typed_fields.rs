//! The readers of [`Fields`] for one type each: required, and `opt_` for what may be absent or `null`.

use crate::{Fields, Item, Problem};
use muster_model::{Name, Timestamp};
use std::ops::RangeInclusive;

/// Each of these answers 422 with the path of the field when it is missing or of the wrong kind.
#[allow(clippy::missing_errors_doc, reason = "said once for all of them, above")]
impl<'a> Fields<'a> {
    /// A name.
    pub fn name(&self, key: &str) -> Result<Name, Problem> {
        self.required(key)?.name()
    }

    /// A name, if any.
    pub fn opt_name(&self, key: &str) -> Result<Option<Name>, Problem> {
        self.optional(key).map(|item| item.name()).transpose()
    }

    /// Text of at most `chars_max` characters.
    pub fn text(&self, key: &str, chars_max: usize) -> Result<&'a str, Problem> {
        self.required(key)?.text(chars_max)
    }

    /// Text of at most `chars_max` characters, if any.
    pub fn opt_text(&self, key: &str, chars_max: usize) -> Result<Option<&'a str>, Problem> {
        self.optional(key).map(|item| item.text(chars_max)).transpose()
    }

    /// An integer of a range.
    pub fn integer_in(&self, key: &str, range: RangeInclusive<i64>) -> Result<i64, Problem> {
        self.required(key)?.integer_in(range)
    }

    /// An integer of a range, if any.
    pub fn opt_integer_in(&self, key: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, Problem> {
        self.optional(key).map(|item| item.integer_in(range)).transpose()
    }

    /// A number from 0 on.
    pub fn non_negative(&self, key: &str) -> Result<f64, Problem> {
        self.required(key)?.non_negative()
    }

    /// A number from 0 on, if any.
    pub fn opt_non_negative(&self, key: &str) -> Result<Option<f64>, Problem> {
        self.optional(key).map(|item| item.non_negative()).transpose()
    }

    /// `true` or `false`.
    pub fn boolean(&self, key: &str) -> Result<bool, Problem> {
        self.required(key)?.boolean()
    }

    /// `true` or `false`, if any.
    pub fn opt_boolean(&self, key: &str) -> Result<Option<bool>, Problem> {
        self.optional(key).map(|item| item.boolean()).transpose()
    }

    /// Milliseconds since the Unix epoch.
    pub fn timestamp(&self, key: &str) -> Result<Timestamp, Problem> {
        self.required(key)?.timestamp()
    }

    /// Milliseconds since the Unix epoch, if any.
    pub fn opt_timestamp(&self, key: &str) -> Result<Option<Timestamp>, Problem> {
        self.optional(key).map(|item| item.timestamp()).transpose()
    }

    /// One of some words.
    pub fn choice(&self, key: &str, words: &[&'static str]) -> Result<&'static str, Problem> {
        self.required(key)?.choice(words)
    }

    /// One of some words, if any.
    pub fn opt_choice(&self, key: &str, words: &[&'static str]) -> Result<Option<&'static str>, Problem> {
        self.optional(key).map(|item| item.choice(words)).transpose()
    }

    /// An object within this one.
    pub fn fields(&self, key: &str) -> Result<Fields<'a>, Problem> {
        self.required(key)?.fields()
    }

    /// An object within this one, if any.
    pub fn opt_fields(&self, key: &str) -> Result<Option<Fields<'a>>, Problem> {
        self.optional(key).map(|item| item.fields()).transpose()
    }

    /// A list of at most `len_max` items.
    pub fn items(&self, key: &str, len_max: usize) -> Result<Vec<Item<'a>>, Problem> {
        self.required(key)?.items(len_max)
    }

    /// A list of at most `len_max` items, if any.
    pub fn opt_items(&self, key: &str, len_max: usize) -> Result<Option<Vec<Item<'a>>>, Problem> {
        self.optional(key).map(|item| item.items(len_max)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn blamed<T: std::fmt::Debug>(result: Result<T, Problem>) -> String {
        let problem = result.expect_err("refused");
        assert_eq!(problem.status(), 422);
        problem.field().unwrap().to_owned()
    }

    /// N6: the field to blame is named by its path.
    #[test]
    fn the_path_leads_to_the_field() {
        let body = json!({"devices": [{"device_id": "a"}, {"device_id": 7}], "lease": {"token": null}});
        let fields = Fields::of(&body).unwrap();
        let devices = fields.items("devices", 2).unwrap();
        assert_eq!(devices[0].fields().unwrap().name("device_id").unwrap().as_str(), "a");
        assert_eq!(blamed(devices[1].fields().unwrap().name("device_id")), "devices[1].device_id");
        assert_eq!(blamed(fields.fields("lease").unwrap().text("token", 9)), "lease.token");
        assert_eq!(blamed(fields.items("devices", 1)), "devices");
        assert_eq!(blamed(Fields::of(&json!([]))), "");
    }

    /// N6: wrong JSON types and values outside a range or an enumeration are refused.
    #[test]
    fn values_are_taken_as_they_are_or_not_at_all() {
        let body = json!({"n": 5, "whole": 5.0, "float": 5.5, "far": 1e300, "text": "5", "big": u64::MAX, "below": -0.5, "nul": "a\0b", "t": 1_760_000_000_000_i64});
        let fields = Fields::of(&body).unwrap();
        assert_eq!(fields.integer_in("n", 0..=5).unwrap(), 5);
        assert_eq!(fields.integer_in("whole", 0..=5).unwrap(), 5);
        assert_eq!(fields.timestamp("t").unwrap(), Timestamp(1_760_000_000_000));
        for key in ["float", "far", "text", "big", "absent"] {
            assert_eq!(blamed(fields.integer_in(key, 0..=i64::MAX)), key);
        }
        assert_eq!(blamed(fields.integer_in("n", 6..=9)), "n");
        assert!((fields.non_negative("float").unwrap() - 5.5).abs() < f64::EPSILON);
        assert_eq!(blamed(fields.non_negative("text")), "text");
        assert_eq!(blamed(fields.non_negative("below")), "below");
        assert_eq!(blamed(fields.text("nul", 99)), "nul");
        assert_eq!(blamed(fields.text("text", 0)), "text");
        assert_eq!(blamed(fields.choice("text", &["4", "6"])), "text");
        assert_eq!(fields.choice("text", &["4", "5"]).unwrap(), "5");
        assert_eq!(blamed(fields.only(&["n", "whole", "float", "far", "text", "big", "below", "nul"])), "t");
    }

    /// N4: optional fields may be null.
    #[test]
    fn null_is_absent() {
        let body = json!({"a": null});
        let fields = Fields::of(&body).unwrap();
        assert_eq!(fields.opt_boolean("a").unwrap(), None);
        assert_eq!(fields.opt_name("b").unwrap(), None);
        assert_eq!(blamed(fields.boolean("a")), "a");
    }
}
