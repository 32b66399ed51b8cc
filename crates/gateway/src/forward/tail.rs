//! The end of an answer that was passed on: streams that last end when their server leads no more (S18, I8).

use super::{Parts, journey::left};
use axum::{
    body::{Body, Bytes, HttpBody},
    http::header,
    response::Response,
};
use futures_util::future::BoxFuture;
use hyper::body::{Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// A stream of events that is over as soon as somebody else leads: whoever watches comes back with its last number and
/// misses nothing. A leader that was cut off would never end it.
pub(super) struct Tail {
    body: Body,
    over: BoxFuture<'static, ()>,
}

impl Tail {
    /// An answer from an address, with an end where it is a stream of events. Anything else must not end early: it would
    /// look whole.
    pub(super) fn of(answer: Response, parts: &Parts, address: &str) -> Response {
        let kind = answer.headers().get(header::CONTENT_TYPE).map_or(&[][..], |kind| kind.as_bytes());
        if !kind.starts_with(b"text/event-stream") {
            return answer;
        }
        let (lead, closing, address) = (parts.lead.clone(), parts.closing.clone(), address.to_owned());
        let over = async move {
            tokio::select! {
                () = left(lead, &address) => {}
                () = super::journey::closed(closing) => {}
            }
        };
        answer.map(|body| Body::new(Self { body, over: Box::pin(over) }))
    }
}

impl HttpBody for Tail {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // What has come is told first.
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending if self.over.as_mut().poll(context).is_ready() => Poll::Ready(None),
            frame => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
