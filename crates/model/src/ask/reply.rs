//! The types of replies.

use crate::{
    AccountReply, ApiKeyRecord, Beat, CompletionReply, FrameHandout, FrameReply, IdRange, JobReply,
    LoginRecord, PoolCancelReply, PoolHandout, PoolReply, PoolSubmissionReply, PoolTaken, PoolWorkReply,
    PoolWorkerRecord, PullReply, Recorded, RegistrationReply, Reply, ScheduleRecord, SessionReply,
    SweepReply, TaskRecord, Timestamp, UserRecord,
};
use alloc::{boxed::Box, vec::Vec};

/// A type that is the whole content of one variant of [`Reply`].
pub trait FromReply: Sized {
    /// Takes it out of a reply; `None` if that is another one.
    fn from_reply(reply: Reply) -> Option<Self>;
}

/// Pairs each type with the variant that holds it.
macro_rules! variants {
    ($($variant:pat => $content:ident: $type:ty;)*) => {$(
        impl FromReply for $type {
            fn from_reply(reply: Reply) -> Option<Self> {
                match reply {
                    $variant => Some($content),
                    _ => None,
                }
            }
        }
    )*};
}

variants! {
    Reply::Job(job) => job: JobReply;
    Reply::Pulled(pulled) => pulled: PullReply;
    Reply::Recorded(recorded) => recorded: Recorded;
    Reply::Claimed(tasks) => tasks: Vec<TaskRecord>;
    Reply::Renewed(renewed) => renewed: bool;
    Reply::Task(task) => task: Box<TaskRecord>;
    Reply::Swept(swept) => swept: SweepReply;
    Reply::Schedule(schedule) => schedule: Box<ScheduleRecord>;
    Reply::Frames(FrameReply::Registered(registered)) => registered: RegistrationReply;
    Reply::Frames(FrameReply::Beat(beat)) => beat: Beat;
    Reply::Frames(FrameReply::Task(task)) => task: Option<Box<FrameHandout>>;
    Reply::Frames(FrameReply::Accepted(accepted)) => accepted: CompletionReply;
    Reply::Frames(FrameReply::Ids(ids)) => ids: IdRange;
    Reply::Frames(FrameReply::Session(session)) => session: SessionReply;
    Reply::Pool(PoolReply::Worker(worker)) => worker: Box<PoolWorkerRecord>;
    Reply::Pool(PoolReply::Seen { at }) => at: Timestamp;
    Reply::Pool(PoolReply::Assignment(handout)) => handout: Option<PoolHandout>;
    Reply::Pool(PoolReply::Assignments(handouts)) => handouts: Vec<PoolHandout>;
    Reply::Pool(PoolReply::Taken(taken)) => taken: PoolTaken;
    Reply::Pool(PoolReply::Worked(worked)) => worked: PoolWorkReply;
    Reply::Pool(PoolReply::Submitted(submitted)) => submitted: PoolSubmissionReply;
    Reply::Pool(PoolReply::Cancelled(cancelled)) => cancelled: PoolCancelReply;
    Reply::Accounts(AccountReply::User(user)) => user: Box<UserRecord>;
    Reply::Accounts(AccountReply::Login(login)) => login: LoginRecord;
    Reply::Accounts(AccountReply::Key(key)) => key: Box<ApiKeyRecord>;
}

/// Every domain has commands that have nothing to tell.
impl FromReply for () {
    fn from_reply(reply: Reply) -> Option<Self> {
        match reply {
            Reply::Done | Reply::Frames(FrameReply::Done) | Reply::Accounts(AccountReply::Done) => Some(()),
            _ => None,
        }
    }
}
