//! Identities: of jobs and tasks (ours), of workers and devices (theirs), of leases (fences).

use crate::{
    id_text::{JobText, parse_hex, parse_uuid},
    text::Text,
};
use alloc::sync::Arc;
use core::{fmt, str::FromStr};

/// Identity of a job; written as a UUID (version 7, so ids sort by the time they were given).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u128);

/// Identity of a task: its job and its place in it, written `<job>.<ordinal>`.
///
/// The text form sorts all tasks of a job together, which lets a store find them by a prefix of the
/// primary key, without an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// The job this task is a unit of.
    pub job: JobId,
    /// Counts up from 1 in the order the tasks were created; at most [`TaskId::ORDINAL_MAX`].
    pub ordinal: u32,
}

/// Identity of a schedule; written as a UUID like that of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduleId(pub u128);

/// Proof that a report speaks of the live lease; unguessable, used by one attempt only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u128);

/// The first 128 bits of a SHA-256; tells whether two bodies are the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u128);

/// A name that came from outside (a worker, a device, a queue, a report): checked once, cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Text);

/// Reason why a text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Nothing there.
    Empty,
    /// More than [`Name::CHARS_MAX`] characters.
    TooLong,
    /// A control character, a slash, a backslash, or a path component such as `..`.
    Forbidden,
}

/// The text is not an id of the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdError;

impl JobId {
    /// Never given to a job; stands for a text that is no id.
    pub const NIL: Self = Self(0);

    /// Makes a version 7 UUID out of a time and random bits.
    #[must_use]
    pub fn new(at: crate::Timestamp, random: u128) -> Self {
        let millis = u128::from(at.0.max(0).unsigned_abs() & 0xffff_ffff_ffff) << 80;
        let random = random & 0x0fff_3fff_ffff_ffff_ffff;
        Self(millis | random | (0x7 << 76) | (0x2 << 62))
    }
}

impl TaskId {
    /// Never given to a task; stands for a text that is no id.
    pub const NIL: Self = Self { job: JobId::NIL, ordinal: 0 };

    /// The largest ordinal: seven decimal digits, so that text order is numeric order.
    pub const ORDINAL_MAX: u32 = 9_999_999;
}

impl Name {
    /// The longest name.
    pub const CHARS_MAX: usize = 128;

    /// Takes a text from outside as a name, if it can be one.
    ///
    /// # Errors
    /// Refuses what is empty, too long, or could be mistaken for a path or a terminal command.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.chars().count() > Self::CHARS_MAX {
            return Err(NameError::TooLong);
        }
        let forbidden = |c: char| is_unseen(c) || matches!(c, '/' | '\\');
        if text.chars().any(forbidden) || text.trim() != text || text == "." || text == ".." {
            return Err(NameError::Forbidden);
        }
        Ok(Self(Text::new(text)))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Declares texts of 1 to 128 characters, none of them a control character.
macro_rules! texts {
    ($($(#[$doc:meta])* $type:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Takes a text from outside, if it can be one.
            ///
            /// # Errors
            /// Refuses what is empty, longer than 128 characters, or holds a control character.
            pub fn new(text: &str) -> Result<Self, NameError> {
                checked_text(text).map(Self)
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )*};
}

texts! {
    /// Id of a report, chosen by its sender (N4).
    ReportId;
    /// Idempotency key of a submission, chosen by the client (Q15).
    SubmissionKey;
}

/// Declares ids that are numbers: JSON integers below 2^53.
macro_rules! numbers {
    ($($(#[$doc:meta])* $type:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub u64);

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

numbers! {
    /// Identity of a user: counts up from 1; 0 is whoever shows the admin token.
    UserId;
    /// Identity of a worker of the pool; counts up from 1.
    PoolWorkerId;
    /// Identity of a job of the pool; counts up from 1, so that a smaller one is older.
    PoolJobId;
    /// Identity of an assignment: its job, and the how manieth of that job it is.
    ///
    /// All assignments of a job stand together, so a store needs no index to find them, and a result names its job.
    AssignmentId;
}

impl ReportId {
    /// The number of an id that is a UUID, written as this program writes one. An id in capitals is another id.
    #[must_use]
    pub fn as_uuid(&self) -> Option<u128> {
        let uuid = parse_uuid(self.as_str()).ok()?;
        (JobText::new(JobId(uuid)).as_str() == self.as_str()).then_some(uuid)
    }
}

impl PoolJobId {
    /// The largest: its assignments' ids stay below 2^53.
    pub const MAX: Self = Self((1 << 47) - 1);
}

impl AssignmentId {
    /// One job has no more assignments than this, whatever happens.
    pub const PER_JOB_MAX: u8 = 63;

    /// The nth assignment of a job; n from 1.
    #[must_use]
    pub const fn new(job: PoolJobId, n: u8) -> Self {
        Self(job.0 << 6 | (n & Self::PER_JOB_MAX) as u64)
    }

    /// Its job.
    #[must_use]
    pub const fn job(self) -> PoolJobId {
        PoolJobId(self.0 >> 6)
    }

    /// The how manieth of its job it is.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "six bits")]
    pub const fn ordinal(self) -> u8 {
        (self.0 & Self::PER_JOB_MAX as u64) as u8
    }
}

/// True if a character steers, turns the direction of writing, or is not seen at all: a line with one is not what it
/// shows. For names, and for reasons in a log.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn checked_text(text: &str) -> Result<Arc<str>, NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.chars().count() > Name::CHARS_MAX {
        return Err(NameError::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(NameError::Forbidden);
    }
    Ok(Arc::from(text))
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "must not be empty",
            Self::TooLong => "must have at most 128 characters",
            Self::Forbidden => {
                "must not contain control characters, slashes or outer blanks, nor be a path component"
            }
        })
    }
}

impl core::error::Error for NameError {}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an id")
    }
}

impl core::error::Error for IdError {}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl FromStr for JobId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        parse_uuid(text).map(Self)
    }
}

impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&JobId(self.0), f)
    }
}

impl FromStr for ScheduleId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse().map(|JobId(number)| Self(number))
    }
}

impl FromStr for TaskId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (job, ordinal) = text.split_once('.').ok_or(IdError)?;
        if ordinal.len() != 7 || !ordinal.bytes().all(|b| b.is_ascii_digit()) {
            return Err(IdError);
        }
        Ok(Self { job: job.parse()?, ordinal: ordinal.parse().map_err(|_| IdError)? })
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fence(…)")
    }
}

impl FromStr for Fence {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.as_bytes().try_into().map_err(|_| IdError).and_then(parse_hex).map(Self)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

debug_as_display!(JobId, TaskId, ScheduleId);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use alloc::string::ToString;

    #[test]
    fn ids_survive_their_text_form() {
        let job = JobId::new(Timestamp(1_760_000_000_000), u128::MAX);
        assert_eq!(job.to_string().parse(), Ok(job));
        assert_eq!(&job.to_string()[14..15], "7");
        let task = TaskId { job, ordinal: 42 };
        assert_eq!(task.to_string().parse(), Ok(task));
        let fence = Fence(7);
        assert_eq!(fence.to_string().parse(), Ok(fence));
    }

    #[test]
    fn job_ids_sort_by_time() {
        assert!(JobId::new(Timestamp(2), 0) > JobId::new(Timestamp(1), u128::MAX));
    }

    #[test]
    fn a_name_is_never_a_path_or_a_control_sequence() {
        for bad in ["", "..", ".", "a/b", "a\\b", "a\u{0}", "a\u{1b}[2J", " a", "a\n", "a\u{202e}b"] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
        for good in ["PC-01", "192.168.0.7:5555", "emulator-5554", "기기 7"] {
            assert!(Name::new(good).is_ok(), "{good:?}");
        }
        assert!(Name::new(&"x".repeat(129)).is_err());
    }

    #[test]
    fn an_assignment_names_its_job() {
        let last = AssignmentId::new(PoolJobId::MAX, AssignmentId::PER_JOB_MAX);
        assert_eq!((last.job(), last.ordinal()), (PoolJobId::MAX, 63));
        assert!(last.0 < 1 << 53);
        assert_eq!(AssignmentId::new(PoolJobId(3), 2), AssignmentId(194));
    }
}
