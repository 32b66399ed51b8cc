//! Failures of a run, counted by kind, and a retry for the devices on which it failed (Q15).

use super::{OperatorCall, damaged_run, refuse};
use axum::{
    Json,
    http::{HeaderMap, StatusCode},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use muster_contract_operations::{
    FailureList, Retry, RetryRequest, RunState, failure_of, read_key, read_retry, show_failures, show_state,
};
use muster_coordinator::Refusal;
use muster_http::{HttpState, JsonBody, PathText, Problem};
use muster_model::{Actor, JobId, JobRecord, Name, TaskRecord, TaskStatus, ask::devices::ReturnToService};
use muster_store::{Cursor, Page, Reader, StoreError, TaskFilter};
use std::collections::{BTreeMap, BTreeSet};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(failures)).routes(routes!(retry))
}

/// Counts how a run's devices failed, the most frequent first.
#[utoipa::path(
    get, path = "/api/runs/{id}/failures", operation_id = "list_failures", tag = "runs", security(("operator" = [])),
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, description = "How often each failure was met", body = FailureList),
        (status = 404, description = "There is no such run"),
    )
)]
async fn failures(call: OperatorCall, id: PathText) -> Result<Json<FailureList>, Problem> {
    let job = id.id("run")?;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let count = move |store: &dyn Reader| {
        let found = store.job(job)?;
        each_failed(store, job, |task| {
            count_failure(&mut counts, failure_of(task.error.as_deref()));
            true
        })?;
        Ok(found.map(|_| counts))
    };
    let counts = call.find("run", count).await?;
    Ok(Json(FailureList { failures: show_failures(counts) }))
}

/// Those beyond the number that is kept apart are counted together.
fn count_failure(counts: &mut BTreeMap<String, u64>, kind: &str) {
    let is_full = counts.len() >= KINDS_MAX && !counts.contains_key(kind);
    let kind = if is_full { OTHER } else { kind };
    *counts.entry(kind.to_owned()).or_default() += 1;
}

/// Submits a run again for the devices on which it failed.
///
/// What has ended stays ended: it is a new run with the same workflow, parameters, queue and number of attempts. A device
/// that failed for good is out of service: with `return_to_service` those are returned as soon as the run is
/// there, else they wait until somebody does. That may take a while, so an Idempotency-Key must make a repeat harmless.
#[utoipa::path(
    post, path = "/api/runs/{id}/retry", operation_id = "retry_run", tag = "runs", security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The run"),
        ("Idempotency-Key" = Option<String>, Header, description = "Recognises a repeat for 24 hours",
            min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$"),
    ),
    request_body = Option<RetryRequest>,
    responses(
        (status = 201, description = "The new run is in its queue", body = RunState),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "No device failed, or not so; or too many did; or the Idempotency-Key was used before, for another body"),
    )
)]
async fn retry(
    call: OperatorCall,
    id: PathText,
    headers: HeaderMap,
    body: Option<JsonBody>,
) -> Result<(StatusCode, Json<RunState>), Problem> {
    let (id, key) = (id.id("run")?, read_key(&headers)?);
    let retry = read_retry(body.as_ref().map(|body| &body.0))?;
    if retry.return_to_service && key.is_none() {
        return Err(Problem::unprocessable("Idempotency-Key", "is required with return_to_service"));
    }
    let wanted = retry.clone();
    let (job, devices) = call.find("run", move |store| failed(store, id, &wanted)).await?;
    check(devices.len())?;
    let attempt_timeout = call.coordinator.settings().attempt_timeout;
    let meant = devices.clone();
    let mut submission = retry.submission(job, devices, attempt_timeout).ok_or_else(damaged_run)?;
    submission.key = key;
    let actor = named(call.actor.clone(), id);
    let state = call.coordinator.ask_as(&actor, submission).await.map_err(refuse)?;
    if retry.return_to_service {
        return_all(&call, meant).await?;
    }
    Ok((StatusCode::CREATED, Json(show_state(state.job, state.status))))
}

/// Returns those devices to service that are out of it. The run is there by now: whoever repeats the request under its key
/// after a failure has the rest returned.
async fn return_all(call: &OperatorCall, devices: BTreeSet<Name>) -> Result<(), Problem> {
    // The note is the reason: it need not be told twice.
    let (note, actor) = (call.actor.reason.clone(), Actor { reason: None, ..call.actor.clone() });
    let returned = devices.into_iter().map(async |lane| {
        let request = ReturnToService { lane, note: note.clone() };
        match call.coordinator.ask_as(&actor, request).await {
            // In service already, or gone.
            Ok(()) | Err(Refusal::Rejected(_)) => Ok(()),
            Err(other) => Err(refuse(other)),
        }
    });
    stream::iter(returned).buffer_unordered(RETURNED_AT_ONCE).try_collect().await
}

/// The actor of a retry: the audit log tells as the reason which run is tried again.
fn named(actor: Actor, of: JobId) -> Actor {
    let reason = match &actor.reason {
        Some(reason) => format!("retry of run {of}: {reason}"),
        None => format!("retry of run {of}"),
    };
    Actor { reason: Some(reason.into()), ..actor }
}

fn check(devices: usize) -> Result<(), Problem> {
    match devices {
        0 => Err(Problem::conflict("no device failed so; GET …/failures says how they did")),
        1..=DEVICES_MAX => Ok(()),
        _ => Err(Problem::conflict(format!(
            "more than {DEVICES_MAX} devices failed so, which is more than a run names; give failure_reason, or submit a run for \
             pcs or labels"
        ))),
    }
}

type Failed = (JobRecord, BTreeSet<Name>);

fn failed(store: &dyn Reader, id: JobId, retry: &Retry) -> Result<Option<Failed>, StoreError> {
    let Some(job) = store.job(id)? else {
        return Ok(None);
    };
    let mut devices = BTreeSet::new();
    each_failed(store, id, |task| {
        if retry.means(task.error.as_deref()) {
            devices.insert(task.lane);
        }
        devices.len() <= DEVICES_MAX
    })?;
    Ok(Some((job, devices)))
}

/// Shows each failed row of a run, page by page, for as long as more are wanted.
fn each_failed(
    store: &dyn Reader,
    job: JobId,
    mut wants_more: impl FnMut(TaskRecord) -> bool,
) -> Result<(), StoreError> {
    let filter = TaskFilter { status: Some(TaskStatus::Failed), ..TaskFilter::default() };
    let mut page = Cursor { after: None, limit: 1000 };
    loop {
        let Page { items, next } = store.tasks(job, &filter, &page)?;
        if !items.into_iter().all(&mut wants_more) || next.is_none() {
            return Ok(());
        }
        page.after = next;
    }
}

/// More than a client may name in a submission, since a run for all devices may fail on any number of them; still a row that
/// a store writes at once.
const DEVICES_MAX: usize = 100_000;
/// So many kinds of failures are told apart; the contracts know fewer.
const KINDS_MAX: usize = 100;
const OTHER: &str = "other";
/// Fewer than the writer lets wait.
const RETURNED_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::UserId;

    /// Q15: nothing failed, or more than a run can name: then there is nothing to retry, and it is said why.
    #[test]
    fn there_must_be_some_and_not_too_many() {
        assert!(check(1).is_ok() && check(DEVICES_MAX).is_ok());
        assert_eq!(check(0).unwrap_err().status(), 409);
        let many = check(DEVICES_MAX + 1).unwrap_err();
        assert!(many.status() == 409 && many.detail().contains("failure_reason"), "{many}");
    }

    /// I9, Q15: however many ways to fail there are, the answer has its bounds, and no failure is left out.
    #[test]
    fn kinds_of_failures_are_bounded() {
        let mut counts = BTreeMap::new();
        for n in 0..KINDS_MAX + 50 {
            count_failure(&mut counts, &format!("e{n}"));
            count_failure(&mut counts, "e0");
        }
        assert_eq!((counts.len(), counts[OTHER]), (KINDS_MAX + 1, 50));
        assert_eq!(counts["e0"], KINDS_MAX as u64 + 51);
    }

    /// I7: the audit log tells what was tried again, and why.
    #[test]
    fn the_log_names_the_run() {
        let actor = |reason: Option<&str>| Actor {
            user: UserId(1),
            name: "ann".into(),
            reason: reason.map(Into::into),
        };
        let told = |reason| named(actor(reason), JobId::NIL).reason.unwrap();
        assert_eq!(&*told(None), format!("retry of run {}", JobId::NIL));
        assert_eq!(&*told(Some("new cables")), format!("retry of run {}: new cables", JobId::NIL));
    }
}
