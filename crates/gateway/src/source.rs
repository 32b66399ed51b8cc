//! The body of a request on its way through: never whole, never too long, never too slow (P16, I9).

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use muster_coordinator::instant_now;
use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep};

/// A request's body, from which each try to deliver it takes.
///
/// The first pieces of a request that may be repeated are kept, so that another coordinator can be given them if the
/// first goes away: a few kilobytes, which is what a job with an idempotency key has.
#[derive(Clone)]
pub(crate) struct Source(Arc<Mutex<Reading>>);

/// Faults of the caller that end a body early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the body is too long")]
    TooLong,
    #[error("the body came too slowly")]
    TooSlow,
    #[error("the body broke off")]
    BrokeOff,
    #[error("another try has taken over")]
    Superseded,
}

struct Reading {
    body: Body,
    length_max: u64,
    received: u64,
    /// All pieces so far, as long as they are few.
    kept: Option<Vec<Bytes>>,
    is_over: bool,
    fault: Option<Fault>,
    tries: u32,
    moved_at: Instant,
    /// Of the whole body, as its head tells.
    hint: SizeHint,
    /// None where whoever answers judges it.
    slowness: Option<Slowness>,
}

impl Source {
    /// A body of at most `length_max` bytes; `keeps` where the request may be repeated.
    pub(crate) fn new(body: Body, length_max: u64, keeps: bool) -> Self {
        let kept = keeps.then(Vec::new);
        Self(Arc::new(Mutex::new(Reading {
            hint: body.size_hint(),
            body,
            length_max,
            received: 0,
            kept,
            is_over: false,
            fault: None,
            tries: 0,
            moved_at: instant_now(),
            slowness: Some(Slowness::default()),
        })))
    }

    /// A body that whoever answers judges, its length and its pace; its first pieces are kept.
    pub(crate) fn unjudged(body: Body) -> Self {
        let source = Self::new(body, u64::MAX, true);
        source.lock().slowness = None;
        source
    }

    /// The body for one more try, from its beginning; none if its beginning is gone.
    pub(crate) fn again(&self) -> Option<Body> {
        let mut reading = self.lock();
        if reading.received > 0 && reading.kept.is_none() {
            return None;
        }
        reading.tries += 1;
        let is_empty = reading.received == 0 && reading.body.is_end_stream();
        let (try_number, hint) = (reading.tries, reading.hint);
        drop(reading);
        Some(Body::new(Try { source: self.clone(), try_number, at: 0, hint, is_empty }))
    }

    /// The caller's fault, if any.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.lock().fault
    }

    /// Largest number of bytes.
    pub(crate) fn length_max(&self) -> usize {
        usize::try_from(self.lock().length_max).unwrap_or(usize::MAX)
    }

    /// True if all of it arrived.
    pub(crate) fn is_whole(&self) -> bool {
        let reading = self.lock();
        reading.is_over || reading.body.is_end_stream()
    }

    /// When the last piece came.
    pub(crate) fn moved_at(&self) -> Instant {
        self.lock().moved_at
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        while !self.is_over {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                let Some(slowness) = &mut self.slowness else { return Poll::Pending };
                ready!(slowness.poll_patience(self.received, context));
                return Poll::Ready(Some(self.fail(Fault::TooSlow)));
            };
            if let Some(slowness) = &mut self.slowness {
                slowness.moved();
            }
            self.moved_at = instant_now();
            match frame {
                None => self.is_over = true,
                Some(Err(_)) => return Poll::Ready(Some(self.fail(Fault::BrokeOff))),
                // Trailers end here: they could say what the head was not allowed to.
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Poll::Ready(Some(self.take(piece)));
                    }
                }
            }
        }
        Poll::Ready(None)
    }

    fn take(&mut self, piece: Bytes) -> Result<Bytes, Fault> {
        self.received = self.received.saturating_add(piece.len() as u64);
        if self.received > self.length_max {
            return self.fail(Fault::TooLong);
        }
        if self.received > KEPT_BYTES_MAX {
            self.kept = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.push(piece.clone());
        }
        Ok(piece)
    }

    fn fail(&mut self, fault: Fault) -> Result<Bytes, Fault> {
        self.fault = Some(fault);
        Err(fault)
    }
}

/// Time spent waiting for the sender.
#[derive(Default)]
struct Slowness {
    waited: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Slowness {
    /// Ends when the sender was silent too long, or is too slow on the whole. Time in which nobody asked does not count.
    fn poll_patience(&mut self, received: u64, context: &mut Context<'_>) -> Poll<()> {
        let left = (GRACE + Duration::from_secs(received / RATE_MIN)).saturating_sub(self.waited);
        let begin = || (instant_now(), Box::pin(tokio::time::sleep(left.min(SILENCE_MAX))));
        self.waiting.get_or_insert_with(begin).1.as_mut().poll(context)
    }

    fn moved(&mut self) {
        if let Some((since, _)) = self.waiting.take() {
            self.waited += since.elapsed();
        }
    }
}

/// The body as one try sends it.
struct Try {
    source: Source,
    try_number: u32,
    /// Number of kept pieces that were sent.
    at: usize,
    hint: SizeHint,
    is_empty: bool,
}

impl HttpBody for Try {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let source = self.source.clone();
        let mut reading = source.lock();
        if reading.tries != self.try_number {
            return Poll::Ready(Some(Err(Fault::Superseded)));
        }
        let kept = reading.kept.as_ref().and_then(|kept| kept.get(self.at)).cloned();
        let piece = match kept {
            Some(piece) => Some(Ok(piece)),
            None => ready!(reading.poll_piece(context)),
        };
        self.at += 1;
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}

/// Of a request that may be repeated.
const KEPT_BYTES_MAX: u64 = 64 * 1024;

/// Without a byte.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Before the rate counts.
const GRACE: Duration = Duration::from_secs(30);

/// Bytes a second, on the whole.
const RATE_MIN: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};
    use std::convert::Infallible;

    fn source(pieces: Vec<Bytes>, length_max: u64, keeps: bool) -> Source {
        let pieces = pieces.into_iter().map(Ok::<_, Infallible>);
        Source::new(Body::from_stream(stream::iter(pieces)), length_max, keeps)
    }

    async fn read(body: Body) -> Option<Vec<u8>> {
        axum::body::to_bytes(body, usize::MAX).await.ok().map(|bytes| bytes.to_vec())
    }

    /// I9: a body is measured while it passes.
    #[tokio::test]
    async fn a_long_body_is_cut_off() {
        let pieces = || vec![Bytes::from_static(b"12345"); 2];
        let fits = source(pieces(), 10, false);
        assert_eq!(read(fits.again().unwrap()).await.unwrap(), b"1234512345");
        let long = source(pieces(), 9, false);
        assert_eq!(read(long.again().unwrap()).await, None);
        assert_eq!(long.fault(), Some(Fault::TooLong));
    }

    /// P16: the beginning of a request that may be repeated is there again; of any other it is gone.
    #[tokio::test]
    async fn a_body_is_there_again() {
        let pieces = || vec![Bytes::from_static(b"one"), Bytes::from_static(b"two")];
        let kept = source(pieces(), 100, true);
        let mut first = kept.again().unwrap().into_data_stream();
        assert_eq!(first.next().await.unwrap().unwrap(), "one");
        assert_eq!(read(kept.again().unwrap()).await.unwrap(), b"onetwo");
        assert!(first.next().await.unwrap().is_err(), "an earlier try takes nothing more");
        assert_eq!(read(kept.again().unwrap()).await.unwrap(), b"onetwo");

        let once = source(pieces(), 100, false);
        drop(once.again().unwrap());
        let mut taken = once.again().unwrap().into_data_stream();
        taken.next().await;
        assert!(once.again().is_none());
    }

    /// P16: what is kept is bounded.
    #[tokio::test]
    async fn a_long_body_is_not_kept() {
        let piece = Bytes::from(vec![0; usize::try_from(KEPT_BYTES_MAX).unwrap()]);
        let long = source(vec![piece, Bytes::from_static(b"x")], u64::MAX, true);
        assert!(read(long.again().unwrap()).await.is_some());
        assert!(long.again().is_none());
    }

    /// I9: a sender that falls silent, or sends a byte now and then, is let go.
    #[tokio::test(start_paused = true)]
    async fn a_slow_sender_is_let_go() {
        let silent =
            Source::new(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()), 100, false);
        assert_eq!(read(silent.again().unwrap()).await, None);
        assert_eq!(silent.fault(), Some(Fault::TooSlow));

        let drops = |pause: u64, piece: &'static [u8]| {
            let drops = stream::iter(0..20).then(move |_| async move {
                tokio::time::sleep(Duration::from_secs(pause)).await;
                Ok::<_, Infallible>(Bytes::from_static(piece))
            });
            Source::new(Body::from_stream(drops), 1 << 30, false)
        };
        let dripping = drops(20, b"x");
        assert_eq!(read(dripping.again().unwrap()).await, None);
        assert_eq!(dripping.fault(), Some(Fault::TooSlow));
        let steady = drops(20, &[0; 40_000]);
        assert_eq!(read(steady.again().unwrap()).await.unwrap().len(), 800_000);
    }
}
