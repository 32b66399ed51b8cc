//! Q14 as bytes: the PostgREST-style calls of PCs, and of whoever else has a key.

use crate::{
    checker::{Verdict, ensure},
    message::{Answer, Request, Response, ServerView, respond as respond_json, stored},
    scene::Scene,
};
use http::StatusCode;
use muster_contract_operations::{
    ClaimedRows, Ending, JsonText, Swept, TaskDevice, as_postgrest, phrase, phrase_claim, phrase_renewal,
    read_claim, read_complete, read_fail, read_nothing, read_renew, show_task_row,
};
use muster_contract_pool::Moment;
use muster_model::{Command, Millis, Name, Rejection, Reply, TaskId, TaskRecord};
use muster_problem::Problem;
use serde_json::{Value, json};

/// True if a command is one of these calls.
pub(crate) fn is_call(command: &Command) -> bool {
    use Command::{Claim, Complete, FailOrRetry, Renew, Sweep};
    matches!(command, Claim { .. } | Renew { .. } | Complete { .. } | FailOrRetry { .. } | Sweep)
}

/// Writes a call as a PC does, and reads it as the server does; `None` if it must be refused, and is.
pub(crate) fn carry(meant: &Command, scene: &mut Scene) -> Option<Command> {
    let read = parse(meant, &write(meant));
    scene.read_request(meant, read, mistake(meant))
}

/// The arguments of a call. What is not needed is left out now and then, and a PC is named in each way there is.
fn write(meant: &Command) -> Request {
    match meant {
        Command::Claim { worker, max, lease } => {
            let pc = worker.as_str();
            let mut body = match lease.0 % 3 {
                0 => json!({"runner_pc_name": pc}),
                1 => json!({"runner_pc_id": pc, "runner_pc_name": null}),
                _ => json!({"runner_pc_id": pc, "runner_pc_name": pc}),
            };
            if *max != 1 || lease.0 % 2 == 0 {
                body["max_to_claim"] = json!(max);
            }
            write_lease(&mut body, *lease);
            Request::json(&body)
        }
        Command::Renew { task, worker, lease } => {
            let mut body = json!({"task_device_id": task.to_string(), "runner_pc_id": worker.as_str()});
            write_lease(&mut body, *lease);
            Request::json(&body)
        }
        Command::Complete { task, worker, result } => {
            let result: Value =
                result.as_deref().map_or(Value::Null, |text| text.parse().expect("it is JSON"));
            let worker = worker.as_ref().map(Name::as_str);
            Request::json(
                &json!({"p_task_device_id": task.to_string(), "p_result": result, "runner_pc_id": worker}),
            )
        }
        Command::FailOrRetry { task, worker, error } => {
            let mut body = json!({"p_task_device_id": task.to_string(), "p_error": error});
            if let Some(worker) = worker {
                body["runner_pc_id"] = worker.as_str().into();
            }
            Request::json(&body)
        }
        _ => Request::default(),
    }
}

/// Whoever wants the usual time need not say so.
#[allow(clippy::cast_precision_loss, reason = "at most a day of milliseconds")]
fn write_lease(body: &mut Value, lease: Millis) {
    if lease != LEASE_DEFAULT {
        body["lease_minutes"] = json!(lease.0 as f64 / 60_000.0);
    }
}

fn parse(meant: &Command, request: &Request) -> Result<Command, Problem> {
    Ok(match meant {
        Command::Claim { .. } => read_claim(&request.value()?)?.into(),
        Command::Renew { .. } => read_renew(&request.value()?)?.into(),
        Command::Complete { .. } => {
            let Ending { task, worker, left } = read_complete(&request.value()?)?;
            Command::Complete { task, worker, result: left }
        }
        Command::FailOrRetry { .. } => {
            let Ending { task, worker, left } = read_fail(&request.value()?)?;
            Command::FailOrRetry { task, worker, error: left }
        }
        other => {
            read_nothing(request.opt_value()?.as_ref())?;
            other.clone()
        }
    })
}

/// The argument that cannot be taken, by the contract's limits.
fn mistake(meant: &Command) -> Option<&'static str> {
    match meant {
        Command::Claim { max: CLAIMS_TOO_MANY.., .. } => Some("max_to_claim"),
        Command::Claim { lease, .. } | Command::Renew { lease, .. } => {
            (lease.0 <= 0 || *lease > LEASE_MAX).then_some("lease_minutes")
        }
        _ => None,
    }
}

/// Phrases the reply to a call as the server does, and checks that it says what was decided.
pub(crate) fn respond(
    command: &Command,
    result: &Result<Reply, Rejection>,
    server: &ServerView<'_>,
) -> Result<Response, crate::checker::Broken> {
    let response = phrase_reply(command, result, server);
    let response = response.unwrap_or_else(|problem| as_postgrest(problem).to_http());
    check(command, result, &Answer::read(&response)?)?;
    Ok(response)
}

fn phrase_reply(
    command: &Command,
    result: &Result<Reply, Rejection>,
    server: &ServerView<'_>,
) -> Result<Response, Problem> {
    match (command, result) {
        (_, Ok(Reply::Claimed(rows))) => {
            let rows: Result<Vec<_>, Problem> = rows.iter().map(|row| show(row, server)).collect();
            respond_json(StatusCode::OK, &ClaimedRows(rows?))
        }
        (_, Ok(Reply::Renewed(renewed))) => respond_json(StatusCode::OK, renewed),
        (_, Ok(Reply::Task(row))) => respond_json(StatusCode::OK, &show(row, server)?),
        (_, Ok(Reply::Swept(swept))) => respond_json(StatusCode::OK, &Swept::from(*swept)),
        (Command::Claim { .. }, Err(rejection)) => respond_json(StatusCode::OK, &phrase_claim(rejection)?),
        (Command::Renew { .. }, Err(rejection)) => respond_json(StatusCode::OK, &phrase_renewal(rejection)?),
        (_, Err(rejection)) => Err(phrase(rejection)),
        (command, reply) => Err(Problem::internal(&format_args!("{reply:?} to {command:?}"))),
    }
}

fn show(row: &TaskRecord, server: &ServerView<'_>) -> Result<TaskDevice<String>, Problem> {
    let payload = stored(server.reader.job(row.id.job))?.payload;
    let config = payload.map(|payload| JsonText::new(&payload.params)).transpose();
    let shown = config.and_then(|config| show_task_row(row.clone(), config));
    shown.map_err(|error| Problem::internal(&error))
}

/// Checks that a response says what was decided, as a PC reads it.
fn check(command: &Command, result: &Result<Reply, Rejection>, answer: &Answer) -> Verdict {
    match (command, result) {
        (_, Ok(Reply::Claimed(rows))) => {
            let read = rows_of(answer);
            let is_told =
                read.len() == rows.len() && read.iter().zip(rows).all(|(read, row)| is_row(read, row));
            ensure(answer.status == 200 && is_told, "response_misphrased", || {
                format!("{answer:?} instead of {rows:?}")
            })
        }
        (_, Ok(Reply::Renewed(renewed))) => ensure(answer.body == *renewed, "response_misphrased", || {
            format!("{answer:?} instead of {renewed}")
        }),
        (_, Ok(Reply::Task(row))) => ensure(
            answer.status == 200 && is_row(&answer.body, row) && is_rest(&answer.body, row),
            "response_misphrased",
            || format!("{answer:?} instead of {row:?}"),
        ),
        (_, Ok(Reply::Swept(swept))) => {
            answer.expect(200, &[("tasks", swept.jobs.into()), ("task_devices", swept.tasks.into())])
        }
        (Command::Claim { .. }, Err(Rejection::WorkerUnknown)) => {
            ensure(answer.body == json!([]), "response_misphrased", || format!("{answer:?} to a stranger"))
        }
        // Every refusal of a renewal means that there is no lease to prolong.
        (Command::Renew { .. }, Err(rejection)) => {
            ensure(answer.body == false, "response_misphrased", || format!("{answer:?} to {rejection:?}"))
        }
        (_, Err(rejection)) => {
            let is_unknown = matches!(rejection, Rejection::TaskUnknown | Rejection::JobUnknown);
            let (status, code) = if is_unknown { (404, "P0002") } else { (409, "55000") };
            answer.expect(status, &[("code", code.into()), ("message", answer.body["detail"].clone())])?;
            let says = match rejection {
                Rejection::NotHolder { holder } => holder.as_str(),
                Rejection::TaskNotRunning { status } => status.as_str(),
                _ => "no such task_device",
            };
            ensure(answer.text("message").contains(says), "response_misphrased", || {
                format!("{answer:?} to {rejection:?}")
            })
        }
        (_, Ok(other)) => ensure(false, "response_misphrased", || format!("{other:?} to {command:?}")),
    }
}

/// The rows of a response to a claim.
pub(crate) fn rows_of(answer: &Answer) -> &[Value] {
    answer.body.as_array().map_or(&[], Vec::as_slice)
}

/// A claimed row as a PC reads it.
pub(crate) struct ClaimedRow {
    pub(crate) task: TaskId,
    pub(crate) device: Name,
    pub(crate) attempt: u16,
}

impl ClaimedRow {
    pub(crate) fn read(row: &Value) -> Option<Self> {
        Some(Self {
            task: row["id"].as_str()?.parse().ok()?,
            device: Name::new(row["device_id"].as_str()?).ok()?,
            attempt: u16::try_from(row["attempt"].as_u64()?).ok()?,
        })
    }
}

/// True if a PC learns from a row what it needs to work by.
fn is_row(read: &Value, row: &TaskRecord) -> bool {
    let until: Option<Moment> = serde_json::from_value(read["lease_expires_at"].clone()).ok();
    read["id"] == row.id.to_string()
        && read["task_id"] == row.id.job.to_string()
        && read["device_id"] == row.lane.as_str()
        && read["pc_id"] == row.worker.as_str()
        && read["status"] == row.status.as_str()
        && read["attempt"] == row.attempt
        && read["max_attempts"] == row.max_attempts
        && read["config"] == json!({})
        && until.map(|Moment(until)| until) == row.lease_until
}

/// True if a row tells how its last attempt ended.
fn is_rest(read: &Value, row: &TaskRecord) -> bool {
    let result: Option<Value> = row.result.as_deref().and_then(|text| text.parse().ok());
    read["error"] == json!(row.error) && read["result"] == json!(result)
}

/// The lease of a claim that names none (Q14).
pub(crate) const LEASE_DEFAULT: Millis = Millis::from_secs(300);
const LEASE_MAX: Millis = Millis::from_secs(86_400);
/// One more than a claim may ask for (Q14).
pub(crate) const CLAIMS_TOO_MANY: u32 = 1_001;
