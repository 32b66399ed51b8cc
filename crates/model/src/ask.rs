//! Requests that name the type of their reply.
//!
//! [`Command`] and [`Reply`] are what the engine, the network and the history deal in: any command, any reply. Whoever
//! wants an answer sends a request instead. It becomes its command, and takes its own reply out of the engine's, so that
//! no caller has to handle a reply to something else.
//!
//! A command whose content is a type of its own is asked by that type: a `Submission`, a `Pull`. The others have a
//! request here with the command's name and fields.

use crate::{
    AccountReply, ApiKeyRecord, Beat, Command, Completion, CompletionReply, FrameCommand, FrameHandout,
    FrameReply, Heartbeat, IdRange, JobReply, LoginRecord, PoolCancelReply, PoolCommand, PoolHandout,
    PoolRegistration, PoolReply, PoolSubmission, PoolSubmissionReply, PoolTaken, PoolWork, PoolWorkReply,
    PoolWorkerRecord, Progress, Pull, PullReply, Recorded, Registration, RegistrationReply, Rejection, Reply,
    Report, ReportBatch, RetryRequest, ScheduleCommand, ScheduleDraft, ScheduleRecord, SessionReply,
    SessionSubmission, Submission, SweepReply, TaskRecord, Timestamp, UserRecord,
};
use alloc::{boxed::Box, vec::Vec};
use core::any::type_name;

/// A request to the engine.
pub trait Ask: Into<Command> {
    /// The type of its reply.
    type Reply: FromReply;

    /// Takes the reply to this request out of the engine's.
    ///
    /// # Panics
    /// The reply belongs to another request. The engine replies to each command in one way; a test of the engine
    /// holds it to that for every request.
    fn reply(reply: Reply) -> Self::Reply {
        let own = FromReply::from_reply(reply);
        own.unwrap_or_else(|| panic!("the reply to a {} is that to something else", type_name::<Self>()))
    }
}

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
    Reply::RecordedBatch(results) => results: Vec<Result<Recorded, Rejection>>;
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

/// Returns the names of all request types, so that a test can show that it leaves none out.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let domains = [devices::names(), frames::names(), pool::names(), accounts::names(), schedules::names()];
    domains.into_iter().flatten().chain(CONTENTS.iter().map(|name| name())).collect()
}

/// Declares what is asked by the content of its command.
macro_rules! contents {
    ($($type:ty as $content:ident => $command:expr, $reply:ty;)*) => {
        const CONTENTS: &[fn() -> &'static str] = &[$(core::any::type_name::<$type>),*];

        $(
            impl From<$type> for Command {
                fn from($content: $type) -> Self {
                    $command.into()
                }
            }

            impl Ask for $type {
                type Reply = $reply;
            }
        )*
    };
}

contents! {
    Submission as submission => Command::Submit(Box::new(submission)), JobReply;
    Pull as pull => Command::Pull(pull), PullReply;
    Report as report => Command::Report(Box::new(report)), Recorded;
    ReportBatch as batch => Command::ReportBatch(batch), Vec<Result<Recorded, Rejection>>;
    Registration as registration => FrameCommand::Register(Box::new(registration)), RegistrationReply;
    Heartbeat as heartbeat => FrameCommand::Heartbeat(heartbeat), Beat;
    Progress as progress => FrameCommand::Progress(Box::new(progress)), ();
    Completion as completion => FrameCommand::Complete(Box::new(completion)), CompletionReply;
    SessionSubmission as submission => FrameCommand::Submit(Box::new(submission)), SessionReply;
    RetryRequest as request => FrameCommand::Retry(Box::new(request)), SessionReply;
    PoolRegistration as registration => PoolCommand::Register(Box::new(registration)), Box<PoolWorkerRecord>;
    PoolWork as work => PoolCommand::Work(Box::new(work)), PoolWorkReply;
    PoolSubmission as submission => PoolCommand::Submit(Box::new(submission)), PoolSubmissionReply;
    ScheduleDraft as draft => ScheduleCommand::Create(Box::new(draft)), Box<ScheduleRecord>;
}

/// Declares requests with the names and fields of commands.
macro_rules! requests {
    ($commands:ident: $($name:ident { $($field:ident: $type:ty),* } -> $reply:ty;)*) => {
        pub(super) fn names() -> alloc::vec::Vec<&'static str> {
            alloc::vec![$(core::any::type_name::<$name>()),*]
        }

        $(
        #[doc = concat!("A [`", stringify!($commands), "::", stringify!($name), "`].")]
        #[derive(Clone, Debug)]
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl From<$name> for Command {
            fn from(request: $name) -> Self {
                let $name { $($field),* } = request;
                $commands::$name { $($field),* }.into()
            }
        }

        impl $crate::Ask for $name {
            type Reply = $reply;
        }
        )*
    };
}

/// Requests about devices, their nodes and their jobs.
#[allow(missing_docs, reason = "the fields are the command's")]
pub mod devices {
    use crate::{Command, JobId, JobReply, Labels, Millis, Name, SweepReply, TaskId, TaskRecord};
    use alloc::{boxed::Box, vec::Vec};

    requests! { Command:
        Cancel { job: JobId } -> JobReply;
        Heartbeat { worker: Name } -> ();
        Claim { worker: Name, max: u32, lease: Millis } -> Vec<TaskRecord>;
        Renew { task: TaskId, worker: Name, lease: Millis } -> bool;
        Complete { task: TaskId, worker: Option<Name>, result: Option<Box<str>> } -> Box<TaskRecord>;
        FailOrRetry { task: TaskId, worker: Option<Name>, error: Option<Box<str>> } -> Box<TaskRecord>;
        Tick {} -> ();
        Sweep {} -> SweepReply;
        Label { lane: Name, labels: Labels } -> ();
        ReturnToService { lane: Name, note: Option<Box<str>> } -> ();
        Drain { worker: Name } -> ();
        Resume { worker: Name } -> ();
        SetCap { worker: Name, cap: Option<u32> } -> ();
        RotateSecret { worker: Name, hash: [u8; 32] } -> ();
    }
}

/// Requests about sessions of frames and their workers.
#[allow(missing_docs, reason = "the fields are the command's")]
pub mod frames {
    use crate::{
        Beat, Command, EntryId, FrameCommand, FrameHandout, FrameTaskId, Held, IdRange, Name,
        QuarantineRecord, SessionId, SessionReply, SkippedRange, Steering,
    };
    use alloc::{boxed::Box, vec::Vec};

    requests! { FrameCommand:
        Ask { worker: Name, supply: bool } -> Option<Box<FrameHandout>>;
        Fail { task: FrameTaskId, worker: Option<Name>, attempt: Option<u16>, error: Box<str> } -> ();
        Remove { worker: Name, itself: bool } -> ();
        Assign { task: FrameTaskId, worker: Name } -> ();
        Broadcast { pause: bool } -> ();
        Quarantine { worker: Name, reason: Box<str> } -> ();
        Approve { worker: Name, reason: Box<str> } -> ();
        MoreIds { worker: Name, task: Option<FrameTaskId>, count: u64 } -> IdRange;
        RetireChunk { chunk: u64, task: Option<FrameTaskId>, reason: Box<str> } -> ();
        Steer { session: SessionId, to: Steering } -> SessionReply;
        Rebind { worker: Name, held: Option<Held> } -> Beat;
        Pushed { task: FrameTaskId, attempt: u16, acked: bool } -> ();
        Moved { entry: EntryId, files: u64 } -> ();
        Confirm { record: Box<QuarantineRecord>, note: Box<str> } -> ();
        Merged { session: SessionId, mark: u64, skipped: Vec<SkippedRange> } -> ();
        Dismissed { worker: Name } -> ();
    }
}

/// Requests about the pool.
#[allow(missing_docs, reason = "the fields are the command's")]
pub mod pool {
    use crate::{
        Command, PoolCancelReply, PoolCommand, PoolHandout, PoolJobId, PoolResult, PoolTaken, PoolWorkerId,
        PoolWorkerRecord, Timestamp, UserId,
    };
    use alloc::{boxed::Box, sync::Arc, vec::Vec};

    requests! { PoolCommand:
        SetKey { worker: PoolWorkerId, owner: UserId, public_key: Box<str> } -> Box<PoolWorkerRecord>;
        Beat { worker: PoolWorkerId, owner: UserId } -> Timestamp;
        Poll { worker: PoolWorkerId, owner: UserId, start: bool, supply: bool } -> Option<PoolHandout>;
        Resume { worker: PoolWorkerId, owner: UserId } -> Vec<PoolHandout>;
        HandIn { worker: PoolWorkerId, owner: UserId, result: Arc<PoolResult> } -> PoolTaken;
        Cancel { job: PoolJobId, client: Option<UserId> } -> PoolCancelReply;
        Drain { worker: PoolWorkerId, owner: Option<UserId>, draining: bool } -> Box<PoolWorkerRecord>;
        Ban { worker: PoolWorkerId, reason: Box<str> } -> Box<PoolWorkerRecord>;
        Unban { worker: PoolWorkerId, reason: Box<str> } -> Box<PoolWorkerRecord>;
    }
}

/// Requests about users, logins and keys.
#[allow(missing_docs, reason = "the fields are the command's")]
pub mod accounts {
    use crate::{
        AccountCommand, ApiKeyRecord, Command, LoginRecord, Millis, Roles, UserChange, UserId, UserRecord,
    };
    use alloc::boxed::Box;

    requests! { AccountCommand:
        AddUser { name: Box<str>, password_hash: Box<str>, roles: Roles } -> Box<UserRecord>;
        ChangeUser { user: UserId, change: UserChange } -> Box<UserRecord>;
        Login { user: UserId, password_hash: Box<str>, ttl: Millis } -> LoginRecord;
        Refresh { login: u128, generation: u32, ttl: Millis } -> LoginRecord;
        Logout { login: u128 } -> ();
        AddKey { user: UserId, name: Box<str>, prefix: Box<str>, hash: [u8; 32], scopes: Option<Roles> }
            -> Box<ApiKeyRecord>;
        RevokeKey { key: u64, user: Option<UserId> } -> ();
        TouchKey { key: u64 } -> ();
        Note { action: &'static str, subject: Box<str> } -> ();
    }
}

/// Requests about schedules.
#[allow(missing_docs, reason = "the fields are the command's")]
pub mod schedules {
    use crate::{Command, JobReply, ScheduleCommand, ScheduleId, Timestamp};

    requests! { ScheduleCommand:
        Delete { schedule: ScheduleId } -> ();
        Fire { schedule: ScheduleId, slot: Timestamp, next_at: Option<Timestamp> } -> JobReply;
        Skip { schedule: ScheduleId, next_at: Option<Timestamp> } -> ();
    }
}
