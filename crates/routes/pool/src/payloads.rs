//! Gives assignments the payloads of their jobs.

use crate::{routes::refuse, translate::show_assignment, wire::Assignment};
use axum::{
    BoxError,
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
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
        Ok(show_assignment(handout, Arc::clone(payload)))
    });
    shown.collect()
}

/// Answers with an object whose last field, `assignments`, has these; `before` is what stands before it.
///
/// A thousand payloads may be larger than memory should hold, so what is more than a few is written out as it is read. Where
/// that breaks off so does the answer: its reader sees that it is no whole document, and asks what it had started.
pub(crate) async fn respond(
    http: &HttpState,
    before: &str,
    handouts: Vec<PoolHandout>,
) -> Result<Response, Problem> {
    let mut writing = Writing { http: http.clone(), handouts: handouts.into_iter(), is_first: true };
    let mut text = format!("{{{before}\"assignments\":[").into_bytes();
    writing.few(&mut text).await?;
    let body = if writing.handouts.len() == 0 {
        text.extend_from_slice(END);
        Body::from(text)
    } else {
        let begun = stream::iter([Ok::<_, BoxError>(Bytes::from(text))]);
        Body::from_stream(begun.chain(stream::try_unfold(writing, rest)))
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Assignments on their way out.
struct Writing {
    http: HttpState,
    handouts: vec::IntoIter<PoolHandout>,
    is_first: bool,
}

impl Writing {
    /// Appends the next few.
    async fn few(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        let few: Vec<PoolHandout> = self.handouts.by_ref().take(FEW).collect();
        for assignment in with_payloads(&self.http, &few).await? {
            if !std::mem::take(&mut self.is_first) {
                text.push(b',');
            }
            serde_json::to_writer(&mut *text, &assignment).map_err(|error| Problem::internal(&error))?;
        }
        Ok(())
    }
}

/// The next part of an answer, and after the last of the assignments its end.
async fn rest(mut writing: Writing) -> Result<Option<(Bytes, Writing)>, BoxError> {
    if writing.handouts.len() == 0 {
        return Ok(None);
    }
    let mut text = Vec::new();
    writing.few(&mut text).await?;
    if writing.handouts.len() == 0 {
        text.extend_from_slice(END);
    }
    Ok(Some((Bytes::from(text), writing)))
}

const END: &[u8] = b"]}";
/// At most so many payloads are held for one answer at a time.
const FEW: usize = 32;
