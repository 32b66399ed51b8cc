//! Jobs that are submitted by the calendar (Q17): what can be asked, what becomes true, what is kept.
//!
//! Time when a slot is due is worked out by whoever has a clock and a calendar; here a slot is a moment like any other.

use crate::{IdError, JobId, Submission, Timestamp};
use alloc::boxed::Box;
use core::{fmt, str::FromStr};

/// Identity of a schedule; written as a UUID like that of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduleId(pub u128);

words! {
    /// Treatment of occurrences that were missed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Missed {
        /// They are dropped.
        #[default]
        Skip = "skip",
        /// One job stands for all of them.
        Once = "once",
    }
}

/// A schedule as it stands. Table `schedules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRecord {
    /// Its identity.
    pub id: ScheduleId,
    /// Expression, time zone and job.
    pub draft: ScheduleDraft,
    /// The latest slot that was fired.
    pub last_slot: Option<Timestamp>,
    /// The job that was submitted for it.
    pub last_job: Option<JobId>,
    /// Since when it stands.
    pub created_at: Timestamp,
}

/// A schedule as an operator hands it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleDraft {
    /// The cron expression.
    pub cron: Box<str>,
    /// The IANA name of the zone it is meant in.
    pub timezone: Box<str>,
    /// Treatment of missed occurrences.
    pub missed: Missed,
    /// The first slot that nothing was done about yet; `None`: none will come.
    pub next_at: Option<Timestamp>,
    /// Job submitted at each occurrence. Its key and digest are those of the request that made the schedule.
    pub run: Submission,
}

/// One request about schedules.
#[derive(Clone, Debug)]
pub enum ScheduleCommand {
    /// A new schedule.
    Create(Box<ScheduleDraft>),
    /// A schedule ends; what it submitted stays.
    Delete {
        /// The schedule.
        schedule: ScheduleId,
    },
    /// A slot is due: its job is submitted in the same step. Refused for a slot that was dealt with.
    Fire {
        /// The schedule.
        schedule: ScheduleId,
        /// The slot.
        slot: Timestamp,
        /// The slot after it.
        next_at: Option<Timestamp>,
    },
    /// Slots were missed, and are dropped up to the next one.
    Skip {
        /// The schedule.
        schedule: ScheduleId,
        /// The first slot that is not dropped.
        next_at: Option<Timestamp>,
    },
}

/// Events about a schedule. Applying it cannot fail.
#[derive(Clone, Debug)]
pub enum ScheduleEvent {
    /// It stands from now on.
    Created(Box<ScheduleRecord>),
    /// A slot has its job.
    Fired {
        /// The schedule.
        schedule: ScheduleId,
        /// The slot.
        slot: Timestamp,
        /// The slot after it.
        next_at: Option<Timestamp>,
        /// The job that was submitted.
        job: JobId,
        /// Time of the event.
        at: Timestamp,
    },
    /// Slots were dropped.
    Skipped {
        /// The schedule.
        schedule: ScheduleId,
        /// The first slot that was not.
        next_at: Option<Timestamp>,
        /// Time of the event.
        at: Timestamp,
    },
    /// It is gone.
    Deleted {
        /// The schedule.
        schedule: ScheduleId,
        /// Time of the event.
        at: Timestamp,
    },
}

/// Reason why a command about schedules was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleRejection {
    /// No such schedule.
    Unknown,
    /// The slot was dealt with before, or is not due yet.
    SlotTaken,
    /// There are as many as there can be.
    TooMany {
        /// So many.
        max: usize,
    },
}

impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&JobId(self.0), f)
    }
}

impl fmt::Debug for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ScheduleId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse().map(|JobId(number)| Self(number))
    }
}
