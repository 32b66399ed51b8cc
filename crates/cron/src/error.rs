//! Errors of cron expressions and time zones.

/// A mistake in an expression or a zone, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It is longer than anybody writes one.
    #[error("cron expression has {length} characters, at most {max} are accepted")]
    TooLong {
        /// The text.
        length: usize,
        /// The accepted forms.
        max: usize,
    },
    /// It does not have five fields.
    #[error("cron expression has {found} fields, expected 5: minute hour day-of-month month day-of-week")]
    FieldCount {
        /// The text.
        found: usize,
    },
    /// One part of one field cannot be read.
    #[error("{field} {part:?}: {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// The part of it.
        part: Box<str>,
        /// The expected form.
        expected: Box<str>,
    },
    /// No such zone.
    #[error("unknown time zone {name:?}, expected an IANA name such as UTC or Europe/Vienna")]
    Timezone {
        /// As it was given, cut short if it is long.
        name: Box<str>,
    },
}

impl CronError {
    /// True if the zone is wrong, not the expression.
    #[must_use]
    pub fn is_about_timezone(&self) -> bool {
        matches!(self, Self::Timezone { .. })
    }
}
