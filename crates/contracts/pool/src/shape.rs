//! Parses bodies field by field, and reports every wrong field at once in the words of pydantic, as FastAPI does.
//!
//! A wrong field is noted and read as a harmless value; [`read`] returns nothing if anything was noted. Unknown fields are
//! ignored.

use crate::limit;
use muster_problem::{Misfit, Problem};
use muster_proof::json::{self, Kind, Object, Value};
use serde_json::Value as Step;
use std::ops::RangeInclusive;

/// Reads a body that must be an object.
pub(crate) fn read<T>(body: &[u8], fields: impl FnOnce(&mut Shape<'_, '_, '_>) -> T) -> Result<T, Problem> {
    let document = parse(body)?;
    let mut misfits = Vec::new();
    let read = fields(&mut Shape::of(&document, vec!["body".into()], &mut misfits));
    if misfits.is_empty() { Ok(read) } else { Err(Problem::misfits(misfits)) }
}

fn parse(body: &[u8]) -> Result<Value<'_>, Problem> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(Problem::misfit(Misfit::body("Field required")));
    }
    json::parse(body).map_err(|refused| {
        let place = vec!["body".into(), refused.at.into()];
        Problem::misfit(Misfit::new(place, format!("JSON decode error: {}", refused.reason)))
    })
}

/// An object whose fields are read by name; one that is `null` counts as absent where it may be absent.
pub(crate) struct Shape<'m, 'v, 'a> {
    object: Option<&'v Object<'a>>,
    text: &'a str,
    place: Vec<Step>,
    misfits: &'m mut Vec<Misfit>,
}

impl<'m, 'v, 'a> Shape<'m, 'v, 'a> {
    fn of(value: &'v Value<'a>, place: Vec<Step>, misfits: &'m mut Vec<Misfit>) -> Self {
        let object = value.as_object();
        if object.is_none() {
            let msg = "Input should be a valid dictionary or object to extract fields from";
            misfits.push(Misfit::new(place.clone(), msg));
        }
        Self { object, text: value.text(), place, misfits }
    }

    /// The object's own text, as it stands in the body.
    pub(crate) fn text_of_all(&self) -> &'a str {
        self.text
    }

    /// Blames a field.
    pub(crate) fn blame(&mut self, key: &str, msg: impl Into<String>) {
        self.blame_within(key, &[], msg);
    }

    /// Blames something inside a field.
    pub(crate) fn blame_within(&mut self, key: &str, steps: &[&str], msg: impl Into<String>) {
        if self.misfits.len() < MISFITS_MAX {
            let mut place = self.place.clone();
            place.push(key.into());
            place.extend(steps.iter().map(|step| Step::from(*step)));
            self.misfits.push(Misfit::new(place, msg));
        }
    }

    /// A field that may be absent.
    pub(crate) fn optional(&self, key: &str) -> Option<&'v Value<'a>> {
        self.object?.get(key).filter(|value| !value.is_null())
    }

    /// A field that must be there; it may be `null` if its type has that.
    pub(crate) fn required(&mut self, key: &str) -> Option<&'v Value<'a>> {
        let object = self.object?;
        let value = object.get(key);
        if value.is_none() {
            self.blame(key, "Field required");
        }
        value
    }

    /// An id: an integer below 2^53. What is below zero is no id that anybody has, as 0 is.
    pub(crate) fn id(&mut self, key: &str) -> u64 {
        let value = self.required(key);
        let id = value.and_then(|value| self.noted(key, integer_in(value, -limit::ID..=limit::ID)));
        id.and_then(|id| u64::try_from(id).ok()).unwrap_or_default()
    }

    /// An integer of a range, if any.
    pub(crate) fn opt_integer(&mut self, key: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.optional(key)?;
        self.noted(key, integer_in(value, range))
    }

    /// An integer of a range.
    pub(crate) fn integer(&mut self, key: &str, range: RangeInclusive<i64>) -> i64 {
        let value = self.required(key);
        value.and_then(|value| self.noted(key, integer_in(value, range))).unwrap_or_default()
    }

    /// A number above zero, if any.
    pub(crate) fn opt_positive(&mut self, key: &str, most: f64) -> Option<f64> {
        let value = self.optional(key)?;
        let number = value.as_f64().ok_or_else(|| "Input should be a valid number".to_owned());
        let number = number.and_then(|number| {
            let too_small = || "Input should be greater than 0".to_owned();
            let number = if number > 0.0 { Ok(number) } else { Err(too_small()) }?;
            let too_large = || format!("Input should be less than or equal to {most}");
            if number <= most { Ok(number) } else { Err(too_large()) }
        });
        self.noted(key, number)
    }

    /// `true` or `false`; absent is `false`.
    pub(crate) fn flag(&mut self, key: &str) -> bool {
        let Some(value) = self.optional(key) else { return false };
        let flag = value.as_bool().ok_or_else(|| "Input should be a valid boolean".to_owned());
        self.noted(key, flag).unwrap_or_default()
    }

    /// A text, its length counted in code points.
    pub(crate) fn text(&mut self, key: &str, chars: RangeInclusive<usize>) -> Box<str> {
        let value = self.required(key);
        value.and_then(|value| self.noted(key, text_of(value, chars))).unwrap_or_default()
    }

    /// A text, if any.
    pub(crate) fn opt_text(&mut self, key: &str, chars_max: usize) -> Option<Box<str>> {
        let value = self.optional(key)?;
        self.noted(key, text_of(value, 0..=chars_max))
    }

    /// An object, if any, whatever is in it.
    pub(crate) fn opt_object(&mut self, key: &str) -> Option<&'v Value<'a>> {
        let value = self.optional(key)?;
        let object = value.as_object().map(|_| value);
        self.noted(key, object.ok_or_else(|| "Input should be a valid dictionary".to_owned()))
    }

    /// As [`Self::opt_object`], with text that may be kept in memory.
    pub(crate) fn opt_object_within(&mut self, key: &str, bytes_max: usize) -> Option<&'v Value<'a>> {
        let value = self.opt_object(key)?;
        let fits = value.text().len() <= bytes_max;
        let msg = || format!("Input should be at most {bytes_max} bytes of JSON");
        self.noted(key, if fits { Ok(value) } else { Err(msg()) })
    }

    /// A list of objects; absent is empty unless its length says otherwise.
    pub(crate) fn list<T>(
        &mut self,
        key: &str,
        len: RangeInclusive<usize>,
        mut item: impl FnMut(&mut Shape<'_, 'v, 'a>) -> T,
    ) -> Vec<T> {
        let value = if *len.start() > 0 { self.required(key) } else { self.optional(key) };
        let items = value.and_then(|value| self.noted(key, items_of(value, len))).unwrap_or_default();
        let mut read = Vec::with_capacity(items.len());
        for (n, value) in items.iter().enumerate() {
            if self.misfits.len() >= MISFITS_MAX {
                break;
            }
            let mut place = self.place.clone();
            place.extend([key.into(), n.into()]);
            read.push(item(&mut Shape::of(value, place, self.misfits)));
        }
        read
    }

    fn noted<T>(&mut self, key: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|msg| self.blame(key, msg)).ok()
    }
}

/// A number without a fraction is an integer, as `7.0` is for pydantic and JSON Schema; truth and text are none.
fn integer_in(value: &Value<'_>, range: RangeInclusive<i64>) -> Result<i64, String> {
    let number = match value.kind {
        // An integer that does not fit is beyond every range, in the direction of its sign.
        Kind::Integer(digits) => {
            digits.parse().unwrap_or(if digits.starts_with('-') { i64::MIN } else { i64::MAX })
        }
        Kind::Float(number) if number.fract() == 0.0 => whole(number),
        Kind::Float(_) => {
            return Err("Input should be a valid integer, got a number with a fractional part".to_owned());
        }
        _ => return Err("Input should be a valid integer".to_owned()),
    };
    if number < *range.start() {
        return Err(format!("Input should be greater than or equal to {}", range.start()));
    }
    if number > *range.end() {
        return Err(format!("Input should be less than or equal to {}", range.end()));
    }
    Ok(number)
}

#[allow(clippy::cast_possible_truncation, reason = "what is beyond 64 bits is beyond every range, too")]
const fn whole(number: f64) -> i64 {
    number as i64
}

fn text_of(value: &Value<'_>, chars: RangeInclusive<usize>) -> Result<Box<str>, String> {
    let text = value.as_str().ok_or_else(|| "Input should be a valid string".to_owned())?;
    let count = text.chars().count();
    if count < *chars.start() {
        return Err(format!("String should have at least {}", counted(*chars.start(), "character")));
    }
    if count > *chars.end() {
        return Err(format!("String should have at most {}", counted(*chars.end(), "character")));
    }
    Ok(text.into())
}

fn items_of<'v, 'a>(value: &'v Value<'a>, len: RangeInclusive<usize>) -> Result<&'v [Value<'a>], String> {
    let items = value.as_array().ok_or_else(|| "Input should be a valid list".to_owned())?;
    let (bound, words) = match items.len() {
        few if few < *len.start() => (*len.start(), "at least"),
        many if many > *len.end() => (*len.end(), "at most"),
        _ => return Ok(items),
    };
    let bound = counted(bound, "item");
    Err(format!("List should have {words} {bound} after validation, not {}", items.len()))
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Maximum number of errors in one response: nobody fixes more at a time, and the response stays short.
const MISFITS_MAX: usize = 100;

#[cfg(test)]
mod tests;
