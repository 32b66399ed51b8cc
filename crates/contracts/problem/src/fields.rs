//! Reads the fields of a JSON object one by one and names the one that is wrong.

use crate::{JsonTree, Members, Problem};
use muster_model::{Name, Timestamp};
use serde_json::{Map, Value};
use std::{borrow::Cow, ops::RangeInclusive};

/// A JSON value whose fields can be read: one that owns its texts, or one that borrows them.
pub trait Json: Sized {
    /// The members of an object.
    type Members;

    /// The member with this name.
    fn member<'m>(members: &'m Self::Members, key: &str) -> Option<&'m Self>;
    /// The names of all members.
    fn keys(members: &Self::Members) -> impl Iterator<Item = &str>;
    /// The members, if it is an object.
    fn as_members(&self) -> Option<&Self::Members>;
    /// The items, if it is a list.
    fn as_items(&self) -> Option<&[Self]>;
    /// The text, if it is one.
    fn as_text(&self) -> Option<&str>;
    /// `true` or `false`, if it is one of them.
    fn as_flag(&self) -> Option<bool>;
    /// The number, if it is one.
    fn as_number(&self) -> Option<&serde_json::Number>;
    /// True if it is `null`.
    fn is_nothing(&self) -> bool;
}

/// A JSON object whose fields are read by name. A field that is `null` counts as absent.
#[derive(Clone, Debug)]
pub struct Fields<'a, V: Json = Value> {
    object: &'a V::Members,
    path: Cow<'a, str>,
}

/// A value at a known place of the request.
#[derive(Clone, Debug)]
pub struct Item<'a, V: Json = Value> {
    /// The value; never `null` when it came out of [`Fields`].
    pub value: &'a V,
    /// Path of the field: `devices[3].device_id`.
    pub path: String,
}

impl<'a, V: Json + 'a> Fields<'a, V> {
    /// Reads a whole body, which must be an object.
    ///
    /// # Errors
    /// 422 when it is something else.
    pub fn of(body: &'a V) -> Result<Self, Problem> {
        let object = body.as_members().ok_or_else(|| Problem::unprocessable("", "must be an object"))?;
        Ok(Self::of_members(object))
    }

    /// Reads the members of a whole body.
    #[must_use]
    pub fn of_members(object: &'a V::Members) -> Self {
        Self { object, path: Cow::Borrowed("") }
    }

    /// The names and values of all fields, in no order that matters.
    #[must_use]
    pub fn object(&self) -> &'a V::Members {
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

    /// The value of a field, unless that is absent or `null`.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&'a V> {
        V::member(self.object, key).filter(|value| !value.is_nothing())
    }

    /// A field that may be absent or `null`.
    #[must_use]
    pub fn optional(&self, key: &str) -> Option<Item<'a, V>> {
        self.value(key).map(|value| Item { value, path: self.path_of(key) })
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// 422 when it is not.
    pub fn required(&self, key: &str) -> Result<Item<'a, V>, Problem> {
        self.optional(key).ok_or_else(|| self.refuse(key, "is missing"))
    }

    /// An object within this one.
    ///
    /// # Errors
    /// 422 when it is missing or no object.
    pub fn fields(&self, key: &str) -> Result<Self, Problem> {
        self.required(key)?.fields()
    }

    /// An object within this one, unless it is absent or `null`.
    ///
    /// # Errors
    /// 422 when it is no object.
    pub fn opt_fields(&self, key: &str) -> Result<Option<Self>, Problem> {
        self.optional(key).map(|item| item.fields()).transpose()
    }

    /// A list of at most `len_max` items.
    ///
    /// # Errors
    /// 422 when it is missing, no list or longer.
    pub fn items(&self, key: &str, len_max: usize) -> Result<Vec<Item<'a, V>>, Problem> {
        self.required(key)?.items(len_max)
    }

    /// A list of at most `len_max` items, unless it is absent or `null`.
    ///
    /// # Errors
    /// 422 when it is no list or longer.
    pub fn opt_items(&self, key: &str, len_max: usize) -> Result<Option<Vec<Item<'a, V>>>, Problem> {
        self.optional(key).map(|item| item.items(len_max)).transpose()
    }

    /// Refuses fields other than these, for objects whose typos would silently change what happens.
    ///
    /// # Errors
    /// 422 naming the first other field.
    pub fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match V::keys(self.object).find(|key| !known.contains(key)) {
            Some(key) => Err(self.refuse(key, &format!("is not known here; known are {}", known.join(", ")))),
            None => Ok(()),
        }
    }
}

impl<'a, V: Json + 'a> Item<'a, V> {
    /// The value as an object.
    ///
    /// # Errors
    /// 422 when it is none.
    pub fn fields(&self) -> Result<Fields<'a, V>, Problem> {
        let object = self.value.as_members().ok_or_else(|| self.refuse("must be an object"))?;
        Ok(Fields { object, path: Cow::Owned(self.path.clone()) })
    }

    /// The value as a list of at most `len_max` items.
    ///
    /// # Errors
    /// 422 when it is none or longer.
    pub fn items(&self, len_max: usize) -> Result<Vec<Self>, Problem> {
        let array = self.value.as_items().ok_or_else(|| self.refuse("must be an array"))?;
        if array.len() > len_max {
            return Err(self.refuse(&format!("must have at most {len_max} items")));
        }
        let item = |(index, value)| Item { value, path: format!("{}[{index}]", self.path) };
        Ok(array.iter().enumerate().map(item).collect())
    }

    /// The problem of this value; `detail` goes on after the path: "must be …".
    #[must_use]
    pub fn refuse(&self, detail: &str) -> Problem {
        Problem::unprocessable(self.path.clone(), detail)
    }
}

/// Readers of one type each: of a field that must be there, of one that may be absent or `null` (`opt_`), and of a value
/// with a path. Paths are written only where something is refused.
macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident, $opt_name:ident ($($limit:ident: $kind:ty)?) -> $read:ty;)*) => {
        /// Each of these answers 422 with the path of the field when it is missing or of the wrong kind.
        #[allow(clippy::missing_errors_doc, reason = "said once for all of them, above")]
        impl<'a, V: Json + 'a> Fields<'a, V> {
            $(
                $(#[$doc])*
                pub fn $name(&self, key: &str $(, $limit: $kind)?) -> Result<$read, Problem> {
                    let value = self.value(key).ok_or_else(|| self.refuse(key, "is missing"))?;
                    read::$name(value $(, $limit)?).map_err(|detail| self.refuse(key, &detail))
                }

                $(#[$doc])*
                ///
                /// `None` if it is absent or `null`.
                pub fn $opt_name(&self, key: &str $(, $limit: $kind)?) -> Result<Option<$read>, Problem> {
                    let read = self.value(key).map(|value| read::$name(value $(, $limit)?)).transpose();
                    read.map_err(|detail| self.refuse(key, &detail))
                }
            )*
        }

        /// Each of these answers 422 with the path of the value when it is of the wrong kind.
        #[allow(clippy::missing_errors_doc, reason = "said once for all of them, above")]
        impl<'a, V: Json + 'a> Item<'a, V> {
            $(
                $(#[$doc])*
                pub fn $name(&self $(, $limit: $kind)?) -> Result<$read, Problem> {
                    read::$name(self.value $(, $limit)?).map_err(|detail| self.refuse(&detail))
                }
            )*
        }
    };
}

readers! {
    /// A name.
    name, opt_name() -> Name;
    /// Text of at most `chars_max` characters, without NUL.
    text, opt_text(chars_max: usize) -> &'a str;
    /// An integer of a range; a number with a fraction or a text is none.
    integer_in, opt_integer_in(range: RangeInclusive<i64>) -> i64;
    /// A number from 0 on.
    non_negative, opt_non_negative() -> f64;
    /// `true` or `false`.
    boolean, opt_boolean() -> bool;
    /// Milliseconds since the Unix epoch, until the year 9999.
    timestamp, opt_timestamp() -> Timestamp;
    /// One of some words.
    choice, opt_choice(words: &[&'static str]) -> &'static str;
}

/// Reads values; the error goes on after the path of the value: "must be …".
mod read {
    use super::{Json, RangeInclusive, TIMESTAMP_MAX, whole};
    use muster_model::{Name, Timestamp};
    use std::borrow::Cow;

    type Read<T> = Result<T, Cow<'static, str>>;

    pub(super) fn text<V: Json>(value: &V, chars_max: usize) -> Read<&str> {
        let text = value.as_text().ok_or("must be a string")?;
        if text.contains('\0') {
            return Err("must not contain NUL".into());
        }
        if text.len() > chars_max && text.chars().count() > chars_max {
            return Err(format!("must have at most {chars_max} characters").into());
        }
        Ok(text)
    }

    pub(super) fn name<V: Json>(value: &V) -> Read<Name> {
        let text = value.as_text().ok_or("must be a string")?;
        Name::new(text).map_err(|error| error.to_string().into())
    }

    pub(super) fn integer_in<V: Json>(value: &V, range: RangeInclusive<i64>) -> Read<i64> {
        let integer = whole(value).filter(|integer| range.contains(integer));
        integer.ok_or_else(|| format!("must be an integer from {} to {}", range.start(), range.end()).into())
    }

    pub(super) fn non_negative<V: Json>(value: &V) -> Read<f64> {
        let number = value.as_number().and_then(serde_json::Number::as_f64);
        let number = number.filter(|number| *number >= 0.0 && number.is_finite());
        number.ok_or_else(|| "must be a number from 0 on".into())
    }

    pub(super) fn boolean<V: Json>(value: &V) -> Read<bool> {
        value.as_flag().ok_or_else(|| "must be true or false".into())
    }

    pub(super) fn timestamp<V: Json>(value: &V) -> Read<Timestamp> {
        let millis = whole(value).filter(|millis| (0..=TIMESTAMP_MAX).contains(millis));
        millis.map(Timestamp).ok_or_else(|| "must be a time in milliseconds since 1970".into())
    }

    pub(super) fn choice<V: Json>(value: &V, words: &[&'static str]) -> Read<&'static str> {
        let word = value.as_text().and_then(|text| words.iter().find(|word| **word == text));
        word.copied().ok_or_else(|| format!("must be one of {}", words.join(", ")).into())
    }
}

impl Json for Value {
    type Members = Map<String, Self>;

    fn member<'m>(members: &'m Self::Members, key: &str) -> Option<&'m Self> {
        members.get(key)
    }

    fn keys(members: &Self::Members) -> impl Iterator<Item = &str> {
        members.keys().map(String::as_str)
    }

    fn as_members(&self) -> Option<&Self::Members> {
        self.as_object()
    }

    fn as_items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn as_text(&self) -> Option<&str> {
        self.as_str()
    }

    fn as_flag(&self) -> Option<bool> {
        self.as_bool()
    }

    fn as_number(&self) -> Option<&serde_json::Number> {
        Self::as_number(self)
    }

    fn is_nothing(&self) -> bool {
        self.is_null()
    }
}

impl<'a> Json for JsonTree<'a> {
    type Members = Members<'a>;

    fn member<'m>(members: &'m Members<'a>, key: &str) -> Option<&'m Self> {
        members.get(key)
    }

    fn keys<'m>(members: &'m Members<'a>) -> impl Iterator<Item = &'m str> {
        members.keys()
    }

    fn as_members(&self) -> Option<&Members<'a>> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    fn as_items(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn as_flag(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    fn as_number(&self) -> Option<&serde_json::Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// The last millisecond of the year 9999.
const TIMESTAMP_MAX: i64 = 253_402_300_799_999;

/// A whole number, however it is written: to JSON `5.0` is one, and some writers know no other.
fn whole<V: Json>(value: &V) -> Option<i64> {
    let value = value.as_number()?;
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
