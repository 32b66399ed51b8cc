//! Times as the contract writes them.

use muster_model::Timestamp;
use serde::{Serialize, Serializer};
use std::{borrow::Cow, fmt};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

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

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        muster_http::schema::schema(muster_http::schema::matching(PATTERN))
    }
}

impl ToSchema for Moment {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Moment")
    }
}

const PATTERN: &str = r"^-?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$";

#[cfg(test)]
mod tests {
    use super::*;

    /// P5, P7: six digits and a Z, also where they are zero.
    #[test]
    fn a_time_has_microseconds() {
        for (millis, text) in [
            (1_770_553_845_123, "2026-02-08T12:30:45.123000Z"),
            (1_770_554_110_000, "2026-02-08T12:35:10.000000Z"),
            (0, "1970-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(Moment(Timestamp(millis)).to_string(), text);
        }
        assert!(Moment(Timestamp(i64::MAX)).to_string().ends_with('Z'));
    }
}
