//! Names of privileged acts in the audit log (I7).

use muster_model::{
    AccountCommand, Actor, AuditRecord, Command, FrameCommand, JobReply, PoolCommand, Reply, RetryRequest,
    Role, Roles, ScheduleCommand, Timestamp, UserChange, UserId,
};

/// A privileged act: its name in the audit log, and what it was done to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Act {
    action: &'static str,
    subject: String,
}

impl Act {
    fn new(action: &'static str, subject: String) -> Self {
        Self { action, subject }
    }
}

/// The record of an act that was carried out; the reason follows the subject.
pub(crate) fn record(mut actor: Actor, act: Act, at: Timestamp) -> AuditRecord {
    let Act { action, subject } = act;
    let subject = match actor.reason.take() {
        Some(reason) if subject.is_empty() => reason,
        Some(reason) => format!("{subject}: {reason}").into(),
        None => subject.into(),
    };
    AuditRecord { actor, action: action.into(), subject, at }
}

/// Adds the id of what an act created, which is known only after the decision.
pub(crate) fn named(act: Act, reply: &Reply) -> Act {
    let Act { action, subject } = act;
    let subject = match (action, reply) {
        ("submit_run", Reply::Job(JobReply { job, .. })) => format!("run {job}, {subject}"),
        ("add_schedule", Reply::Schedule(schedule)) => format!("schedule {}, {subject}", schedule.id),
        _ => subject,
    };
    Act { action, subject }
}

/// The act that a command is; `None` for commands that the audit log leaves out.
pub(crate) fn describe(command: &Command) -> Option<Act> {
    Some(match command {
        Command::Submit(submission) => Act::new("submit_run", format!("queue {}", submission.queue)),
        Command::Cancel { job } => Act::new("cancel_run", format!("run {job}")),
        Command::Claim { worker, .. } => Act::new("claim_tasks", format!("node {worker}")),
        Command::Renew { task, .. } => Act::new("renew_task", format!("task {task}")),
        Command::Complete { task, .. } => Act::new("complete_task", format!("task {task}")),
        Command::FailOrRetry { task, .. } => Act::new("fail_task", format!("task {task}")),
        Command::Sweep => Act::new("sweep", String::new()),
        Command::Label { lane, .. } => Act::new("label_device", format!("device {lane}")),
        Command::ReturnToService { lane, note } => {
            let note = note.as_deref().map_or_else(String::new, |note| format!(": {note}"));
            Act::new("return_device", format!("device {lane}{note}"))
        }
        Command::Drain { worker } => Act::new("drain_node", format!("node {worker}")),
        Command::Resume { worker } => Act::new("resume_node", format!("node {worker}")),
        Command::SetCap { worker, cap } => Act::new("cap_node", format!("node {worker} {cap:?}")),
        Command::RotateSecret { worker, .. } => Act::new("rotate_secret", format!("node {worker}")),
        Command::Frames(command) => about_frames(command)?,
        Command::Pool(command) => about_pool(command)?,
        Command::Accounts(command) => about_accounts(command)?,
        Command::Schedules(command) => about_schedules(command)?,
        // A node speaks for itself.
        Command::Pull(_) | Command::Heartbeat { .. } | Command::Report(_) | Command::ReportBatch(_) => {
            return None;
        }
        // No caller sends a tick.
        Command::Tick => return None,
    })
}

fn about_frames(command: &FrameCommand) -> Option<Act> {
    Some(match command {
        FrameCommand::Submit(submission) => {
            Act::new("submit_session", format!("session {}", submission.session))
        }
        FrameCommand::Steer { session, to } => Act::new("steer_session", format!("session {session} {to:?}")),
        FrameCommand::Retry(request) => Act::new("retry_session", retried(request)),
        FrameCommand::Remove { worker, .. } => Act::new("remove_sim_worker", format!("worker {worker}")),
        FrameCommand::Assign { task, worker } => Act::new("assign_range", format!("task {task} to {worker}")),
        FrameCommand::Broadcast { pause: true } => Act::new("pause_all", String::new()),
        FrameCommand::Broadcast { pause: false } => Act::new("resume_all", String::new()),
        FrameCommand::Quarantine { worker, reason } => {
            Act::new("quarantine_sim_worker", format!("worker {worker}: {reason}"))
        }
        FrameCommand::Approve { worker, reason } => {
            Act::new("approve_sim_worker", format!("worker {worker}: {reason}"))
        }
        FrameCommand::RetireChunk { chunk, reason, .. } => {
            Act::new("retire_chunk", format!("chunk {chunk}: {reason}"))
        }
        FrameCommand::Confirm { record, note } => {
            Act::new("confirm_quarantine", format!("entry {}: {note}", record.id))
        }
        FrameCommand::Complete(completion) => Act::new("complete_range", format!("task {}", completion.task)),
        FrameCommand::Fail { task, .. } => Act::new("fail_range", format!("task {task}")),
        // A worker speaks for itself.
        FrameCommand::Register(_)
        | FrameCommand::Heartbeat(_)
        | FrameCommand::Ask { .. }
        | FrameCommand::Progress(_)
        | FrameCommand::MoreIds { .. }
        | FrameCommand::Rebind { .. } => return None,
        // The server says what it did.
        FrameCommand::Pushed { .. }
        | FrameCommand::Moved { .. }
        | FrameCommand::Merged { .. }
        | FrameCommand::Dismissed { .. } => return None,
    })
}

fn retried(RetryRequest { session, frames, .. }: &RetryRequest) -> String {
    let ranges = frames.iter().flatten().map(|range| format!(" {range}")).collect::<String>();
    format!("session {session}{ranges}")
}

fn about_pool(command: &PoolCommand) -> Option<Act> {
    Some(match command {
        PoolCommand::Register(registration) => {
            Act::new("register_worker", format!("worker {:?}", registration.name))
        }
        PoolCommand::SetKey { worker, .. } => Act::new("replace_worker_key", format!("worker {worker}")),
        PoolCommand::Submit(submission) => Act::new("submit_jobs", format!("{} jobs", submission.jobs.len())),
        PoolCommand::Cancel { job, .. } => Act::new("cancel_job", format!("job {job}")),
        PoolCommand::Drain { worker, draining: true, .. } => {
            Act::new("drain_worker", format!("worker {worker}"))
        }
        PoolCommand::Drain { worker, draining: false, .. } => {
            Act::new("resume_worker", format!("worker {worker}"))
        }
        PoolCommand::Ban { worker, reason } => Act::new("ban_worker", format!("worker {worker}: {reason}")),
        PoolCommand::Unban { worker, reason } => {
            Act::new("unban_worker", format!("worker {worker}: {reason}"))
        }
        // A worker speaks for itself.
        PoolCommand::Beat { .. }
        | PoolCommand::Poll { .. }
        | PoolCommand::Resume { .. }
        | PoolCommand::HandIn { .. }
        | PoolCommand::Work(_) => return None,
    })
}

fn about_schedules(command: &ScheduleCommand) -> Option<Act> {
    Some(match command {
        ScheduleCommand::Create(draft) => {
            Act::new("add_schedule", format!("{:?} {}", draft.cron, draft.timezone))
        }
        ScheduleCommand::Delete { schedule } => Act::new("delete_schedule", format!("schedule {schedule}")),
        // The server follows the calendar.
        ScheduleCommand::Fire { .. } | ScheduleCommand::Skip { .. } => return None,
    })
}

fn about_accounts(command: &AccountCommand) -> Option<Act> {
    Some(match command {
        AccountCommand::AddUser { name, roles, .. } => {
            Act::new("add_user", format!("user {name:?} {}", words(*roles)))
        }
        AccountCommand::ChangeUser { user, change } => Act::new("change_user", changed(*user, change)),
        AccountCommand::Login { user, .. } => Act::new("login", format!("user {user}")),
        AccountCommand::Logout { .. } => Act::new("logout", String::new()),
        AccountCommand::AddKey { name, prefix, .. } => Act::new("add_api_key", format!("{prefix}… {name:?}")),
        AccountCommand::RevokeKey { key, .. } => Act::new("revoke_api_key", format!("key {key}")),
        AccountCommand::Note { action, subject } => Act::new(action, subject.to_string()),
        // Nothing changes: a login goes on, a key is used.
        AccountCommand::Refresh { .. } | AccountCommand::TouchKey { .. } => return None,
    })
}

/// Describes the change of a user; a password is named, never shown.
fn changed(user: UserId, change: &UserChange) -> String {
    let password = change.password_hash.as_ref().map(|_| "a new password".to_owned());
    let roles = change.roles.map(|roles| format!("roles {}", words(roles)));
    let active = change.active.map(|active| if active { "in service" } else { "out of service" }.to_owned());
    let changes: Vec<String> = [password, roles, active].into_iter().flatten().collect();
    format!("user {user}: {}", changes.join(", "))
}

fn words(roles: Roles) -> String {
    roles.iter().map(Role::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I6, I7: an act says what was done, and shows nothing secret.
    #[test]
    fn an_act_is_told_in_words() {
        let change = UserChange {
            password_hash: Some("$argon2id$secret".into()),
            roles: Some(Roles::NONE.with(Role::Client).with(Role::Viewer)),
            active: Some(false),
        };
        let command = Command::Accounts(AccountCommand::ChangeUser { user: UserId(7), change });
        let told = "user 7: a new password, roles CLIENT VIEWER, out of service";
        assert_eq!(describe(&command), Some(Act::new("change_user", told.to_owned())));
        assert_eq!(describe(&Command::Tick), None);
    }

    /// I7: why somebody acted stands after what they acted on.
    #[test]
    fn a_reason_ends_the_subject() {
        let subject = |subject: &str, reason: Option<&str>| {
            let actor = Actor { user: UserId(7), name: "ann".into(), reason: reason.map(Into::into) };
            let AuditRecord { actor, subject, .. } =
                record(actor, Act::new("act", subject.to_owned()), Timestamp(1));
            assert_eq!(actor.reason, None, "nothing else keeps it");
            subject
        };
        assert_eq!(&*subject("run 1", Some("wrong build")), "run 1: wrong build");
        assert_eq!(&*subject("", Some("wrong build")), "wrong build");
        assert_eq!(&*subject("run 1", None), "run 1");
    }
}
