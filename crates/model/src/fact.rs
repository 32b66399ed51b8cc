//! Facts that memory has forgotten and a decision needs: looked up in the store first.

use crate::{
    AssignmentId, AssignmentRecord, ChunkRecord, FrameTaskId, FrameTaskRecord, JobId, JobStatus, KeyRecord,
    PoolEndRecord, PoolJobId, PoolKeyRecord, ReportId, ReportSubject, SessionId, SessionRecord,
    SubmissionKey, TaskId, TaskRecord, UserId,
};
use alloc::{boxed::Box, collections::BTreeMap};

/// Key of a fact in the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A report by its id.
    Report(ReportId),
    /// A task by its id.
    Task(TaskId),
    /// A job by its id.
    Job(JobId),
    /// A submission by its key.
    Submission(SubmissionKey),
    /// A session by its id.
    Session(SessionId),
    /// A range of frames by its id.
    FrameTask(FrameTaskId),
    /// Granted ids by the number of the grant.
    Chunk(u64),
    /// The end of a job of the pool.
    PoolEnd(PoolJobId),
    /// An assignment by its id.
    Assignment(AssignmentId),
    /// A submission to the pool by its client and key.
    PoolSubmission(UserId, SubmissionKey),
}

/// Answer of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A report about this subject was taken; `None` if a version that did not store the subject took it.
    Report(Option<ReportSubject>),
    /// The task, ended.
    Task(Box<TaskRecord>),
    /// The job, ended and closed.
    Job(JobStatus),
    /// Outcome of the submission.
    Submission(KeyRecord),
    /// The session, closed; without its body.
    Session(Box<SessionRecord>),
    /// The range, ended; without its result.
    FrameTask(Box<FrameTaskRecord>),
    /// The ids, whatever became of them.
    Chunk(Box<ChunkRecord>),
    /// Final status of the job.
    PoolEnd(PoolEndRecord),
    /// The assignment, whatever became of it; without its result.
    Assignment(Box<AssignmentRecord>),
    /// Outcome of the submission.
    PoolSubmission(PoolKeyRecord),
}

/// The facts found for a group of commands; what is absent does not exist in the store.
#[derive(Clone, Debug, Default)]
pub struct Facts(BTreeMap<Key, Fact>);

impl Facts {
    /// Adds a fact.
    pub fn insert(&mut self, key: Key, fact: Fact) {
        self.0.insert(key, fact);
    }

    /// True if there are no facts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fact for a key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Fact> {
        self.0.get(key)
    }
}
