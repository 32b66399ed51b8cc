//! The way of one request to whoever leads, through changes of leadership (S18).

use super::{
    Parts,
    proven::{Leader, Verdict, in_words},
    way::{LeaderReply, Outgoing, WayError},
};
use crate::{coordinators::Head, pass::may_repeat, places::Place, problems, request_headers, source::Source};
use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, Response, header, request},
};
use futures_util::future::BoxFuture;
use hyper::body::{Frame, Incoming, SizeHint};
use muster_coordinator::Lead;
use muster_coordinator::instant_now;
use muster_http::{Peer, Problem};
use std::{
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// A request on its way.
pub(super) struct Journey<'a> {
    parts: &'a Parts,
    head: Head,
    source: Source,
    peer: Option<IpAddr>,
    pub(super) hops: u8,
    lead: watch::Receiver<Lead>,
    /// Until when somebody must be found.
    until: Instant,
    /// Before a leader that could not be reached is tried again.
    pause: Duration,
    /// Number of times that it may have arrived.
    arrivals: u32,
    waiting: Option<Place>,
}

/// End of a journey.
pub(super) enum End {
    /// At this server, which leads by now; with the body from its beginning.
    Here(Body),
    /// At the server with this address.
    There(Response<Incoming>, String),
}

/// Result of one attempt.
enum Try {
    End(End),
    /// Nothing was done, for this reason.
    NotYet(String),
}

impl<'a> Journey<'a> {
    pub(super) fn new(parts: &'a Parts, request: &request::Parts, body: Body) -> Result<Self, Problem> {
        let path = request.uri.path_and_query().filter(|path| path.as_str().starts_with('/')).cloned();
        let path = path.ok_or_else(|| Problem::bad_request("the target must be a path"))?;
        let head = Head { method: request.method.clone(), path, headers: outgoing(&request.headers) };
        let peer = request.extensions.get().and_then(|peer: &Peer| peer.0);
        Ok(Self {
            parts,
            head,
            source: Source::unjudged(body),
            peer,
            hops: 1,
            lead: parts.lead.clone(),
            until: instant_now() + parts.patience,
            pause: PAUSE_MIN,
            arrivals: 0,
            waiting: None,
        })
    }

    /// Forwards the request to the leader.
    ///
    /// A request that was never sent, or that a follower rejected, is retried until a leader is found or the deadline
    /// passes. A request that may have arrived is sent again only if it may arrive twice.
    pub(super) async fn travel(mut self) -> Result<End, Problem> {
        loop {
            let lead = self.lead.borrow_and_update().clone();
            let why = match lead {
                Lead::Here { .. } if !self.parts.is_closing() => return self.body().map(End::Here),
                Lead::There { address, epoch } => match self.try_at(Leader { address, epoch }).await? {
                    Try::End(end) => return Ok(end),
                    Try::NotYet(why) => why,
                },
                Lead::Here { .. } | Lead::Nowhere => self.parts.nobody(),
            };
            self.wait(why).await?;
        }
    }

    async fn try_at(&mut self, leader: Leader) -> Result<Try, Problem> {
        let address = &leader.address;
        let verdict = tokio::select! {
            verdict = self.parts.trusts(&leader, None) => verdict,
            () = left(self.lead.clone(), address) => return Ok(Try::NotYet(format!("{address} does not lead any more"))),
        };
        if verdict != Verdict::Ours {
            return Ok(Try::NotYet(in_words(verdict, address)));
        }
        let mut head = self.head.clone();
        self.parts.seal.close(&mut head, self.peer, self.hops);
        let body = self.body()?;
        let sent = self.parts.way.ask(&leader, Outgoing { head, body }, self.given_up(address)).await;
        // No other server can finish a request whose body the caller broke off.
        if self.source.fault().is_some() {
            return Err(Problem::bad_request("the body broke off"));
        }
        match sent {
            Ok(LeaderReply::Answer(answer)) => Ok(Try::End(End::There(answer, leader.address))),
            Ok(LeaderReply::NotLeading) => {
                Ok(Try::NotYet(format!("{address} does not lead any more, or not yet")))
            }
            Err(WayError::NotSent(verdict)) => {
                self.parts.trust.note(&leader, verdict);
                Ok(Try::NotYet(in_words(verdict, address)))
            }
            Ok(LeaderReply::Strange) | Err(WayError::BrokeOff) => {
                self.parts.trust.doubt(&leader);
                self.broke_off(address)
            }
        }
    }

    fn broke_off(&mut self, address: &str) -> Result<Try, Problem> {
        self.arrivals += 1;
        if self.arrivals >= ARRIVALS_MAX || !may_repeat(&self.head) {
            return Err(problems::fate_unknown());
        }
        self.until = instant_now() + self.parts.patience;
        Ok(Try::NotYet(format!("the leader at {address} broke off")))
    }

    /// The body from its beginning. Where too much of it has left to be kept, what became of it decides what is said.
    fn body(&self) -> Result<Body, Problem> {
        self.source.again().ok_or_else(|| {
            if self.arrivals > 0 {
                problems::fate_unknown()
            } else {
                Problem::not_leading(
                    "leadership changed while the body was sent; nothing was done, send it again",
                )
            }
        })
    }

    /// Ends when a response from an address is not worth waiting for any longer: this server stops, or another one
    /// leads. Waits a little first, because a response that was sent before may still arrive.
    async fn given_up(&self, address: &str) {
        tokio::select! {
            () = left(self.lead.clone(), address) => {}
            () = closed(self.parts.closing.clone()) => {}
        }
        tokio::time::sleep(LAST_ANSWER_MAX).await;
    }

    /// Waits until somebody else leads, or for a while; not for ever, and not with everybody.
    async fn wait(&mut self, why: String) -> Result<(), Problem> {
        if self.waiting.is_none() {
            self.waiting = Some(self.parts.waiting_room.take(0).map_err(|_| Problem::not_leading(&*why))?);
        }
        let now = instant_now();
        if now >= self.until || self.parts.is_closing() {
            return Err(Problem::not_leading(why));
        }
        tokio::select! {
            Ok(()) = self.lead.changed() => {}
            () = closed(self.parts.closing.clone()) => {}
            () = tokio::time::sleep_until(self.until.min(now + self.pause)) => {}
        }
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

/// Ends when the server at an address does not lead any more, as far as is known here.
pub(super) async fn left(mut lead: watch::Receiver<Lead>, from: &str) {
    let is_elsewhere = |lead: &Lead| !matches!(lead, Lead::There { address, .. } if address == from);
    if lead.wait_for(is_elsewhere).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Ends when this server stops.
pub(super) async fn closed(mut closing: watch::Receiver<bool>) {
    if closing.wait_for(|closing| *closing).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The headers of a request as the leader gets them. Its names stay: the leader's answer must make sense to the caller,
/// who may know this server only.
fn outgoing(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    request_headers::strip(&mut headers);
    headers.remove(header::EXPECT);
    headers
}

/// A change of leadership is heard of at once; these are for a leader that is there and not to be reached.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_millis(800);

/// For answers that a leader gave before it ceased to be one.
const LAST_ANSWER_MAX: Duration = Duration::from_secs(1);

/// A request that broke off so often is not worth another try: it may be what brings leaders down.
const ARRIVALS_MAX: u32 = 2;

/// A stream of events that is over as soon as somebody else leads: whoever watches comes back with its last number and
/// misses nothing. A leader that was cut off would never end it.
pub(super) struct Tail {
    body: Body,
    over: BoxFuture<'static, ()>,
}

impl Tail {
    /// An answer from an address, with an end where it is a stream of events. Anything else must not end early: it would
    /// look whole.
    pub(super) fn of(answer: Response<Body>, parts: &Parts, address: &str) -> Response<Body> {
        let kind = answer.headers().get(header::CONTENT_TYPE).map_or(&[][..], |kind| kind.as_bytes());
        if !kind.starts_with(b"text/event-stream") {
            return answer;
        }
        let (lead, closing, address) = (parts.lead.clone(), parts.closing.clone(), address.to_owned());
        let over = async move {
            tokio::select! {
                () = left(lead, &address) => {}
                () = closed(closing) => {}
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
        // Data that has already arrived is delivered before the end.
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
