//! Jobs that are submitted by the calendar (Q17): what can be asked, what becomes true, what is kept.
//!
//! Time when a slot is due is worked out by whoever has a clock and a calendar; here a slot is a moment like any other.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use crate::{JobId, ScheduleId, Submission, Timestamp};
use alloc::boxed::Box;

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
    Delete { schedule: ScheduleId },
    /// A slot is due: its job is submitted in the same step. Refused for a slot that was dealt with.
    Fire {
        schedule: ScheduleId,
        slot: Timestamp,
        /// The slot after it.
        next_at: Option<Timestamp>,
    },
    /// Slots were missed, and are dropped up to the next one.
    Skip {
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
        schedule: ScheduleId,
        slot: Timestamp,
        /// The slot after it.
        next_at: Option<Timestamp>,
        job: JobId,
        at: Timestamp,
    },
    /// Slots were dropped.
    Skipped {
        schedule: ScheduleId,
        /// The first slot that was not.
        next_at: Option<Timestamp>,
        at: Timestamp,
    },
    /// It is gone.
    Deleted { schedule: ScheduleId, at: Timestamp },
}

/// Reason why a command about schedules was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleRejection {
    /// No such schedule.
    Unknown,
    /// The slot was dealt with before, or is not due yet.
    SlotTaken,
    /// There are as many as there can be.
    TooMany { max: usize },
}
