//! Why something is not a cron expression or a time zone.

/// What is wrong with an expression or a zone, in words for whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It is longer than anybody writes one.
    #[error("cron expression has {length} characters, at most {max} are accepted")]
    TooLong {
        /// What it has.
        length: usize,
        /// What is accepted.
        max: usize,
    },
    /// It does not have five fields.
    #[error("cron expression has {found} fields, expected 5: minute hour day-of-month month day-of-week")]
    FieldCount {
        /// What it has.
        found: usize,
    },
    /// One part of one field cannot be read.
    #[error("{field} {part:?}: {expected}")]
    Field {
        /// Which field.
        field: &'static str,
        /// The part of it.
        part: Box<str>,
        /// What is expected instead.
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
    /// Whether the zone is wrong, not the expression.
    #[must_use]
    pub fn is_about_timezone(&self) -> bool {
        matches!(self, Self::Timezone { .. })
    }
}
