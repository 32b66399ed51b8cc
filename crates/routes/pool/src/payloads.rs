//! Gives assignments the payloads of their jobs.

use crate::routes::refuse;
use axum::{
    BoxError,
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use muster_contract_pool::{Assignment, AssignmentListWriter, SubmittedItem};
use muster_http::{HttpState, Problem};
use muster_model::{PoolHandout, PoolJobId};
use std::{collections::HashMap, sync::Arc, vec};

/// Shows assignments with their payloads: most are in memory, the rest are read at once.
pub(crate) async fn with_payloads(
    http: &HttpState,
    handouts: &[PoolHandout],
) -> Result<Vec<Assignment>, Problem> {
    let directory = http.coordinator.pool();
    let jobs = handouts.iter().map(|handout| handout.assignment.job());
    let mut payloads: HashMap<PoolJobId, Arc<str>> =
        jobs.clone().filter_map(|job| Some((job, directory.payload(job)?))).collect();
    let missing: Vec<PoolJobId> = jobs.filter(|job| !payloads.contains_key(job)).collect();
    if !missing.is_empty() {
        let read = http.coordinator.read(move |reader| reader.pool_payloads(&missing)).await;
        payloads.extend(read.map_err(refuse)?);
    }
    let shown = handouts.iter().map(|handout| {
        let payload = payloads.get(&handout.assignment.job());
        let payload =
            payload.ok_or_else(|| Problem::internal(&format_args!("no payload for {handout:?}")))?;
        Ok(Assignment::of(handout, Arc::clone(payload)))
    });
    shown.collect()
}

/// Answers with assignments, after what became of the results that were submitted, if any were.
///
/// A thousand payloads may be larger than memory should hold, so a long list is written as it is read. If that breaks off,
/// so does the response: its reader sees an incomplete document, and asks what it had started.
pub(crate) async fn respond(
    http: &HttpState,
    submitted: Option<&[SubmittedItem]>,
    handouts: Vec<PoolHandout>,
) -> Result<Response, Problem> {
    let mut text = Vec::new();
    let writer = AssignmentListWriter::begin(submitted, &mut text).map_err(|e| Problem::internal(&e))?;
    let mut list = ListResponse { http: http.clone(), handouts: handouts.into_iter(), writer };
    list.write_some(&mut text).await?;
    let body = if list.handouts.len() == 0 {
        Body::from(text)
    } else {
        let begun = stream::iter([Ok::<_, BoxError>(Bytes::from(text))]);
        Body::from_stream(begun.chain(stream::try_unfold(list, next_part)))
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// A response whose assignments are being written.
struct ListResponse {
    http: HttpState,
    handouts: vec::IntoIter<PoolHandout>,
    writer: AssignmentListWriter,
}

impl ListResponse {
    /// Appends the next few assignments, and after the last one the end.
    async fn write_some(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        let some: Vec<PoolHandout> = self.handouts.by_ref().take(PAYLOADS_AT_ONCE).collect();
        for assignment in with_payloads(&self.http, &some).await? {
            self.writer.push(&assignment, text).map_err(|error| Problem::internal(&error))?;
        }
        if self.handouts.len() == 0 {
            AssignmentListWriter::end(text);
        }
        Ok(())
    }
}

/// The next part of a response.
async fn next_part(mut list: ListResponse) -> Result<Option<(Bytes, ListResponse)>, BoxError> {
    if list.handouts.len() == 0 {
        return Ok(None);
    }
    let mut text = Vec::new();
    list.write_some(&mut text).await?;
    Ok(Some((Bytes::from(text), list)))
}

/// The number of payloads that one response holds in memory at a time.
const PAYLOADS_AT_ONCE: usize = 32;
