//! Reads the fields of a JSON object one by one and names the one that is wrong.

use crate::Problem;
use muster_model::{Name, Timestamp};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// A JSON object whose fields are read by name. A field that is `null` counts as absent.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
}

/// A value at a known place of the request.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// The value; never `null` when it came out of [`Fields`].
    pub value: &'a Value,
    /// Path of the field: `devices[3].device_id`.
    pub path: String,
}

impl<'a> Fields<'a> {
    /// Reads a whole body, which must be an object.
    ///
    /// # Errors
    /// 422 when it is something else.
    pub fn of(body: &'a Value) -> Result<Self, Problem> {
        Item { value: body, path: String::new() }.fields()
    }

    /// The names and values of all fields, in no order that matters.
    #[must_use]
    pub fn object(&self) -> &'a Map<String, Value> {
        self.object
    }

    /// The path of a field of this object.
    #[must_use]
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The problem of a field, for rules only the caller knows; `detail` goes on after the path: "must be …".
    #[must_use]
    pub fn refuse(&self, key: &str, detail: &str) -> Problem {
        Problem::unprocessable(self.path_of(key), detail)
    }

    /// A field that may be absent or `null`.
    #[must_use]
    pub fn optional(&self, key: &str) -> Option<Item<'a>> {
        let value = self.object.get(key).filter(|value| !value.is_null())?;
        Some(Item { value, path: self.path_of(key) })
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// 422 when it is not.
    pub fn required(&self, key: &str) -> Result<Item<'a>, Problem> {
        self.optional(key).ok_or_else(|| self.refuse(key, "is missing"))
    }

    /// Refuses fields other than these, for objects whose typos would silently change what happens.
    ///
    /// # Errors
    /// 422 naming the first other field.
    pub fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.refuse(key, &format!("is not known here; known are {}", known.join(", ")))),
            None => Ok(()),
        }
    }
}

/// Readers of one type each: the first for a field that must be there, `opt_` for one that may be absent or `null`.
macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident, $opt_name:ident ($($limit:ident: $kind:ty)?) -> $read:ty;)*) => {
        /// Each of these answers 422 with the path of the field when it is missing or of the wrong kind.
        #[allow(clippy::missing_errors_doc, reason = "said once for all of them, above")]
        impl<'a> Fields<'a> {
            $(
                $(#[$doc])*
                pub fn $name(&self, key: &str $(, $limit: $kind)?) -> Result<$read, Problem> {
                    self.required(key)?.$name($($limit)?)
                }

                $(#[$doc])*
                ///
                /// `None` if it is absent or `null`.
                pub fn $opt_name(&self, key: &str $(, $limit: $kind)?) -> Result<Option<$read>, Problem> {
                    self.optional(key).map(|item| item.$name($($limit)?)).transpose()
                }
            )*
        }
    };
}

readers! {
    /// A name.
    name, opt_name() -> Name;
    /// Text of at most `chars_max` characters.
    text, opt_text(chars_max: usize) -> &'a str;
    /// An integer of a range.
    integer_in, opt_integer_in(range: RangeInclusive<i64>) -> i64;
    /// A number from 0 on.
    non_negative, opt_non_negative() -> f64;
    /// `true` or `false`.
    boolean, opt_boolean() -> bool;
    /// Milliseconds since the Unix epoch.
    timestamp, opt_timestamp() -> Timestamp;
    /// One of some words.
    choice, opt_choice(words: &[&'static str]) -> &'static str;
    /// An object within this one.
    fields, opt_fields() -> Fields<'a>;
    /// A list of at most `len_max` items.
    items, opt_items(len_max: usize) -> Vec<Item<'a>>;
}

impl<'a> Item<'a> {
    /// The value as an object.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn fields(&self) -> Result<Fields<'a>, Problem> {
        let object = self.value.as_object().ok_or_else(|| self.refuse("must be an object"))?;
        Ok(Fields { object, path: self.path.clone() })
    }

    /// The value as a list of at most `len_max` items.
    ///
    /// # Errors
    /// 422 when it is none or longer.
    pub fn items(&self, len_max: usize) -> Result<Vec<Item<'a>>, Problem> {
        let array = self.value.as_array().ok_or_else(|| self.refuse("must be an array"))?;
        if array.len() > len_max {
            return Err(self.refuse(&format!("must have at most {len_max} items")));
        }
        let item = |(index, value)| Item { value, path: format!("{}[{index}]", self.path) };
        Ok(array.iter().enumerate().map(item).collect())
    }

    /// The value as text of at most `chars_max` characters, without NUL.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn text(&self, chars_max: usize) -> Result<&'a str, Problem> {
        let text = self.value.as_str().ok_or_else(|| self.refuse("must be a string"))?;
        if text.contains('\0') {
            return Err(self.refuse("must not contain NUL"));
        }
        if text.chars().count() > chars_max {
            return Err(self.refuse(&format!("must have at most {chars_max} characters")));
        }
        Ok(text)
    }

    /// The value as a name.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn name(&self) -> Result<Name, Problem> {
        let text = self.value.as_str().ok_or_else(|| self.refuse("must be a string"))?;
        Name::new(text).map_err(|error| self.refuse(&error.to_string()))
    }

    /// The value as an integer of a range; a number with a fraction or a text is none.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn integer_in(&self, range: RangeInclusive<i64>) -> Result<i64, Problem> {
        let integer = whole(self.value).filter(|integer| range.contains(integer));
        integer.ok_or_else(|| {
            self.refuse(&format!("must be an integer from {} to {}", range.start(), range.end()))
        })
    }

    /// The value as a number from 0 on.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn non_negative(&self) -> Result<f64, Problem> {
        let number = self.value.as_f64().filter(|number| *number >= 0.0 && number.is_finite());
        number.ok_or_else(|| self.refuse("must be a number from 0 on"))
    }

    /// The value as `true` or `false`.
    ///
    /// # Errors
    /// 422 when it is neither.
    pub fn boolean(&self) -> Result<bool, Problem> {
        self.value.as_bool().ok_or_else(|| self.refuse("must be true or false"))
    }

    /// The value as milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// 422 when it is none, or after the year 9999.
    pub fn timestamp(&self) -> Result<Timestamp, Problem> {
        let millis = whole(self.value).filter(|millis| (0..=TIMESTAMP_MAX).contains(millis));
        millis.map(Timestamp).ok_or_else(|| self.refuse("must be a time in milliseconds since 1970"))
    }

    /// The value as one of some words.
    ///
    /// # Errors
    /// 422 listing the words.
    pub fn choice(&self, words: &[&'static str]) -> Result<&'static str, Problem> {
        let word = self.value.as_str().and_then(|text| words.iter().find(|word| **word == text));
        word.copied().ok_or_else(|| self.refuse(&format!("must be one of {}", words.join(", "))))
    }

    /// The problem of this value; `detail` goes on after the path: "must be …".
    #[must_use]
    pub fn refuse(&self, detail: &str) -> Problem {
        Problem::unprocessable(self.path.clone(), detail)
    }
}

/// The last millisecond of the year 9999.
const TIMESTAMP_MAX: i64 = 253_402_300_799_999;

/// A whole number, however it is written: to JSON `5.0` is one, and some writers know no other.
fn whole(value: &Value) -> Option<i64> {
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < EXACT_MAX;
    #[allow(clippy::cast_possible_truncation, reason = "checked to be whole and small enough")]
    value.as_i64().or_else(|| value.as_f64().filter(is_whole).map(|number| number as i64))
}

/// Below it, every whole number has a floating point number of its own.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Pattern of a name, for descriptions: no control character, slash or outer blank, nothing invisible, and no `.` or
/// `..`; [`muster_model::Name`] checks it.
pub const NAME_PATTERN: &str = concat!(
    r"^(?!\.{1,2}$)",
    r"[^\u0000-\u0020\u007F-\u00A0\u1680\u2000-\u200F\u2028-\u202F\u205F-\u2069\u3000\uFEFF/\\]",
    r"(?:[^\u0000-\u001F\u007F-\u009F\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF/\\]*",
    r"[^\u0000-\u0020\u007F-\u00A0\u1680\u2000-\u200F\u2028-\u202F\u205F-\u2069\u3000\uFEFF/\\])?$",
);

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
