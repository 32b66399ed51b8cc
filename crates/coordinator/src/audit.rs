//! What a privileged act is called in the audit log (I7).

use muster_model::{
    AccountCommand, Actor, AuditRecord, Command, FrameCommand, JobReply, PoolCommand, Reply, RetryRequest,
    Role, Roles, ScheduleCommand, Timestamp, UserChange, UserId,
};

/// The line for an act that was carried out; why stands after what it was done to.
pub(crate) fn record(mut actor: Actor, act: (&'static str, String), at: Timestamp) -> AuditRecord {
    let (action, subject) = act;
    let subject = match actor.reason.take() {
        Some(reason) if subject.is_empty() => reason,
        Some(reason) => format!("{subject}: {reason}").into(),
        None => subject.into(),
    };
    AuditRecord { actor, action: action.into(), subject, at }
}

/// An act with the id of what came of it, which nobody knew before it was decided.
pub(crate) fn named(act: (&'static str, String), reply: &Reply) -> (&'static str, String) {
    match (act, reply) {
        (("submit_run", subject), Reply::Job(JobReply { job, .. })) => {
            ("submit_run", format!("run {job}, {subject}"))
        }
        (("add_schedule", subject), Reply::Schedule(schedule)) => {
            ("add_schedule", format!("schedule {}, {subject}", schedule.id))
        }
        (act, _) => act,
    }
}

/// What a command does and to what; `None` for what nobody is called to account for.
pub(crate) fn describe(command: &Command) -> Option<(&'static str, String)> {
    Some(match command {
        Command::Submit(submission) => ("submit_run", format!("queue {}", submission.queue)),
        Command::Cancel { job } => ("cancel_run", format!("run {job}")),
        Command::Claim { worker, .. } => ("claim_tasks", format!("node {worker}")),
        Command::Renew { task, .. } => ("renew_task", format!("task {task}")),
        Command::Complete { task, .. } => ("complete_task", format!("task {task}")),
        Command::FailOrRetry { task, .. } => ("fail_task", format!("task {task}")),
        Command::Sweep => ("sweep", String::new()),
        Command::Label { lane, .. } => ("label_device", format!("device {lane}")),
        Command::ReturnToService { lane, note } => {
            let note = note.as_deref().map_or_else(String::new, |note| format!(": {note}"));
            ("return_device", format!("device {lane}{note}"))
        }
        Command::Drain { worker } => ("drain_node", format!("node {worker}")),
        Command::Resume { worker } => ("resume_node", format!("node {worker}")),
        Command::SetCap { worker, cap } => ("cap_node", format!("node {worker} {cap:?}")),
        Command::RotateSecret { worker, .. } => ("rotate_secret", format!("node {worker}")),
        Command::Frames(command) => about_frames(command)?,
        Command::Pool(command) => about_pool(command)?,
        Command::Accounts(command) => about_accounts(command)?,
        Command::Schedules(command) => about_schedules(command)?,
        // A node speaks for itself.
        Command::Pull(_) | Command::Heartbeat { .. } | Command::Report(_) => return None,
        // Nobody asks for it.
        Command::Tick => return None,
    })
}

fn about_frames(command: &FrameCommand) -> Option<(&'static str, String)> {
    Some(match command {
        FrameCommand::Submit(submission) => ("submit_session", format!("session {}", submission.session)),
        FrameCommand::Steer { session, to } => ("steer_session", format!("session {session} {to:?}")),
        FrameCommand::Retry(request) => ("retry_session", retried(request)),
        FrameCommand::Remove { worker, .. } => ("remove_sim_worker", format!("worker {worker}")),
        FrameCommand::Assign { task, worker } => ("assign_range", format!("task {task} to {worker}")),
        FrameCommand::Broadcast { pause: true } => ("pause_all", String::new()),
        FrameCommand::Broadcast { pause: false } => ("resume_all", String::new()),
        FrameCommand::Quarantine { worker, reason } => {
            ("quarantine_sim_worker", format!("worker {worker}: {reason}"))
        }
        FrameCommand::Approve { worker, reason } => {
            ("approve_sim_worker", format!("worker {worker}: {reason}"))
        }
        FrameCommand::RetireChunk { chunk, reason, .. } => {
            ("retire_chunk", format!("chunk {chunk}: {reason}"))
        }
        FrameCommand::Confirm { record, note } => {
            ("confirm_quarantine", format!("entry {}: {note}", record.id))
        }
        FrameCommand::Complete(completion) => ("complete_range", format!("task {}", completion.task)),
        FrameCommand::Fail { task, .. } => ("fail_range", format!("task {task}")),
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

fn about_pool(command: &PoolCommand) -> Option<(&'static str, String)> {
    Some(match command {
        PoolCommand::Register(registration) => ("register_worker", format!("worker {:?}", registration.name)),
        PoolCommand::SetKey { worker, .. } => ("replace_worker_key", format!("worker {worker}")),
        PoolCommand::Submit(submission) => ("submit_jobs", format!("{} jobs", submission.jobs.len())),
        PoolCommand::Cancel { job, .. } => ("cancel_job", format!("job {job}")),
        PoolCommand::Drain { worker, draining: true, .. } => ("drain_worker", format!("worker {worker}")),
        PoolCommand::Drain { worker, draining: false, .. } => ("resume_worker", format!("worker {worker}")),
        PoolCommand::Ban { worker, reason } => ("ban_worker", format!("worker {worker}: {reason}")),
        PoolCommand::Unban { worker, reason } => ("unban_worker", format!("worker {worker}: {reason}")),
        // A worker speaks for itself.
        PoolCommand::Beat { .. }
        | PoolCommand::Poll { .. }
        | PoolCommand::Resume { .. }
        | PoolCommand::HandIn { .. }
        | PoolCommand::Work(_) => return None,
    })
}

fn about_schedules(command: &ScheduleCommand) -> Option<(&'static str, String)> {
    Some(match command {
        ScheduleCommand::Create(draft) => ("add_schedule", format!("{:?} {}", draft.cron, draft.timezone)),
        ScheduleCommand::Delete { schedule } => ("delete_schedule", format!("schedule {schedule}")),
        // The server follows the calendar.
        ScheduleCommand::Fire { .. } | ScheduleCommand::Skip { .. } => return None,
    })
}

fn about_accounts(command: &AccountCommand) -> Option<(&'static str, String)> {
    Some(match command {
        AccountCommand::AddUser { name, roles, .. } => {
            ("add_user", format!("user {name:?} {}", words(*roles)))
        }
        AccountCommand::ChangeUser { user, change } => ("change_user", changed(*user, change)),
        AccountCommand::Login { user, .. } => ("login", format!("user {user}")),
        AccountCommand::Logout { .. } => ("logout", String::new()),
        AccountCommand::AddKey { name, prefix, .. } => ("add_api_key", format!("{prefix}… {name:?}")),
        AccountCommand::RevokeKey { key, .. } => ("revoke_api_key", format!("key {key}")),
        AccountCommand::Note { action, subject } => (action, subject.to_string()),
        // Nothing changes: a login goes on, a key is used.
        AccountCommand::Refresh { .. } | AccountCommand::TouchKey { .. } => return None,
    })
}

/// What changed about a user; a password is named, never shown.
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
        assert_eq!(describe(&command), Some(("change_user", told.to_owned())));
        assert_eq!(describe(&Command::Tick), None);
    }

    /// I7: why somebody acted stands after what they acted on.
    #[test]
    fn a_reason_ends_the_subject() {
        let subject = |subject: &str, reason: Option<&str>| {
            let actor = Actor { user: UserId(7), name: "ann".into(), reason: reason.map(Into::into) };
            let AuditRecord { actor, subject, .. } = record(actor, ("act", subject.to_owned()), Timestamp(1));
            assert_eq!(actor.reason, None, "nothing else keeps it");
            subject
        };
        assert_eq!(&*subject("run 1", Some("wrong build")), "run 1: wrong build");
        assert_eq!(&*subject("", Some("wrong build")), "wrong build");
        assert_eq!(&*subject("run 1", None), "run 1");
    }
}
