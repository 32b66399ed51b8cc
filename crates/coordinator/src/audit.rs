//! What a privileged act is called in the audit log (I7).

use muster_model::{AccountCommand, Actor, AuditRecord, Command, FrameCommand, PoolCommand, Timestamp};

/// The line for an act that was carried out.
pub(crate) fn record(actor: Actor, act: (&'static str, String), at: Timestamp) -> AuditRecord {
    AuditRecord { actor, action: act.0.into(), subject: act.1.into(), at }
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
        Command::ReturnToService { lane, .. } => ("return_device", format!("device {lane}")),
        Command::Drain { worker } => ("drain_node", format!("node {worker}")),
        Command::Resume { worker } => ("resume_node", format!("node {worker}")),
        Command::SetCap { worker, cap } => ("cap_node", format!("node {worker} {cap:?}")),
        Command::RotateSecret { worker, .. } => ("rotate_secret", format!("node {worker}")),
        Command::Frames(command) => about_frames(command)?,
        Command::Pool(command) => about_pool(command)?,
        Command::Accounts(command) => about_accounts(command)?,
        Command::Pull(_) | Command::Sight { .. } | Command::Report(_) | Command::Tick => return None,
    })
}

fn about_frames(command: &FrameCommand) -> Option<(&'static str, String)> {
    Some(match command {
        FrameCommand::Submit(submission) => ("submit_session", format!("session {}", submission.session)),
        FrameCommand::Steer { session, to } => ("steer_session", format!("session {session} {to:?}")),
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
        _ => return None,
    })
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
        PoolCommand::Beat { .. }
        | PoolCommand::Poll { .. }
        | PoolCommand::Resume { .. }
        | PoolCommand::HandIn { .. }
        | PoolCommand::Work(_) => return None,
    })
}

fn about_accounts(command: &AccountCommand) -> Option<(&'static str, String)> {
    Some(match command {
        AccountCommand::AddUser { name, roles, .. } => {
            let roles: Vec<_> = roles.iter().map(muster_model::Role::as_str).collect();
            ("add_user", format!("user {name:?} {}", roles.join(" ")))
        }
        AccountCommand::ChangeUser { user, change } => ("change_user", format!("user {user} {change:?}")),
        AccountCommand::Login { user, .. } => ("login", format!("user {user}")),
        AccountCommand::Logout { .. } => ("logout", String::new()),
        AccountCommand::AddKey { name, prefix, .. } => ("add_api_key", format!("{prefix}… {name:?}")),
        AccountCommand::RevokeKey { key, .. } => ("revoke_api_key", format!("key {key}")),
        AccountCommand::Refresh { .. } | AccountCommand::TouchKey { .. } => return None,
    })
}
