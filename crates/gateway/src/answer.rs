//! The answer of a coordinator on its way back (P16).

use crate::{hop, problems};
use axum::{
    body::{Body, Bytes, HttpBody},
    http::{Response, StatusCode, header},
};
use hyper::body::{Frame, Incoming, SizeHint};
use muster_door::Problem;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::sync::OwnedSemaphorePermit;

/// Makes the answer to the caller. Its body passes piece by piece, and keeps the request's place until its end.
pub(crate) fn passed_on(
    answer: Response<Incoming>,
    place: OwnedSemaphorePermit,
) -> Result<Response<Body>, Problem> {
    let (mut parts, body) = answer.into_parts();
    let has_two_lengths = parts.headers.contains_key(header::TRANSFER_ENCODING)
        && parts.headers.contains_key(header::CONTENT_LENGTH);
    // Nobody asked for another protocol.
    if has_two_lengths || parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(problems::broke_off());
    }
    hop::strip(&mut parts.headers);
    Ok(Response::from_parts(parts, Body::new(Passing { body, _place: place })))
}

/// A body that passes, without trailers.
struct Passing {
    body: Incoming,
    _place: OwnedSemaphorePermit,
}

impl HttpBody for Passing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) if !frame.is_data() => {}
                other => return Poll::Ready(other),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
