//! The answer of a coordinator on its way back (P16).

use crate::{hop, places::Place, problems};
use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody},
    http::{Response, StatusCode, header},
};
use hyper::body::{Frame, Incoming, SizeHint};
use muster_http::Problem;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::{Instant, Sleep};

/// What a request holds until its answer has ended.
pub(crate) struct Stay {
    pub(crate) places: Vec<Place>,
    /// When it must have ended.
    pub(crate) until: Option<Instant>,
}

/// Makes the answer to the caller. Its body passes piece by piece, and keeps the request's places until its end.
pub(crate) fn passed_on(answer: Response<Incoming>, stay: Stay) -> Result<Response<Body>, Problem> {
    let (mut parts, body) = answer.into_parts();
    let has_two_lengths = parts.headers.contains_key(header::TRANSFER_ENCODING)
        && parts.headers.contains_key(header::CONTENT_LENGTH);
    // Nobody asked for another protocol.
    if has_two_lengths || parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(problems::broke_off());
    }
    hop::strip(&mut parts.headers);
    let time = stay.until.map(|until| Box::pin(tokio::time::sleep_until(until)));
    Ok(Response::from_parts(parts, Body::new(Passing { body, time, _places: stay.places })))
}

/// A body that passes, without trailers.
struct Passing<B> {
    body: B,
    time: Option<Pin<Box<Sleep>>>,
    _places: Vec<Place>,
}

impl<B> HttpBody for Passing<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // Asked first: a reader who takes a little now and then always finds something ready.
        if self.time.as_mut().is_some_and(|time| time.as_mut().poll(context).is_ready()) {
            return Poll::Ready(Some(Err("the time is over".into())));
        }
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) if !frame.is_data() => {}
                other => return Poll::Ready(other.map(|frame| frame.map_err(Into::into))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};
    use std::{convert::Infallible, time::Duration};

    /// P16, I9: where time is limited, a reader who is always about to read on is let go; elsewhere a stream may last.
    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_let_go() {
        for (time, wanted) in [(Some(60), 3), (None, 10)] {
            let pieces = stream::iter(0..10).map(|_| Ok::<_, Infallible>(Bytes::from_static(b"x")));
            let time = time.map(|time| Box::pin(tokio::time::sleep(Duration::from_secs(time))));
            let body = Passing { body: Body::from_stream(pieces), time, _places: Vec::new() };
            let mut body = Body::new(body).into_data_stream();
            let mut read = 0;
            while let Some(Ok(_)) = body.next().await {
                read += 1;
                tokio::time::sleep(Duration::from_secs(25)).await;
            }
            assert_eq!(read, wanted);
        }
    }
}
