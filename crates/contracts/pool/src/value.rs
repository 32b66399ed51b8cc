//! Values that several types of the contract share: JSON that is passed on as it came, and times.

use muster_model::Timestamp;
use muster_problem::schema::{any, matching, schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, sync::Arc};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A JSON text, read and written letter by letter; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(Arc<str>);

impl JsonText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, to be shared.
    #[must_use]
    pub fn into_text(self) -> Arc<str> {
        self.0
    }
}

impl From<Arc<str>> for JsonText {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl From<&str> for JsonText {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Only a damaged store can hold a text that is not JSON; it must not break the response around it.
        let raw = <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(&self.0));
        raw.map_err(S::Error::custom)?.serialize(to)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(from).map(|raw| Self::from(raw.get()))
    }
}

impl PartialSchema for JsonText {
    fn schema() -> RefOr<Schema> {
        schema(any())
    }
}

impl ToSchema for JsonText {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AnyJson")
    }
}

/// A time: ISO-8601 in UTC, with microseconds and `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A clock that is off by thousands of years is shown at the end of what can be written.
        let at = jiff::Timestamp::from_millisecond(self.0.0);
        let at = at.unwrap_or(if self.0.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX });
        write!(f, "{at:.6}")
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let at: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Self(Timestamp(at.as_millisecond())))
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        schema(matching(MOMENT_PATTERN))
    }
}

impl ToSchema for Moment {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Moment")
    }
}

const MOMENT_PATTERN: &str = r"^-?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$";

#[cfg(test)]
mod tests {
    use super::*;

    /// P6: a worker reads what a client wrote, letter by letter.
    #[test]
    fn text_is_passed_on_as_it_came() {
        let text = "{\"a\": 1.50, \"b\":[ 99999999999999999999999 ], \"c\":\"\\u00e9\"}";
        assert_eq!(serde_json::to_string(&JsonText::from(text)).unwrap(), text);
        assert_eq!(serde_json::from_str::<JsonText>(text).unwrap(), JsonText::from(text));
        assert!(serde_json::to_string(&JsonText::from("{")).is_err());
    }

    /// P5, P7: six digits and a Z, also where they are zero.
    #[test]
    fn a_time_has_microseconds() {
        for (millis, text) in [
            (1_770_553_845_123, "2026-02-08T12:30:45.123000Z"),
            (1_770_554_110_000, "2026-02-08T12:35:10.000000Z"),
            (0, "1970-01-01T00:00:00.000000Z"),
        ] {
            let moment = Moment(Timestamp(millis));
            assert_eq!(moment.to_string(), text);
            assert_eq!(serde_json::from_str::<Moment>(&format!("\"{text}\"")).unwrap(), moment);
        }
        assert!(Moment(Timestamp(i64::MAX)).to_string().ends_with('Z'));
    }
}
