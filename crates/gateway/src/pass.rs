//! Passes a request on if it may pass, and its answer back (P2, P16). A request goes to another coordinator only if that
//! cannot do it twice.

use crate::{
    admission::{admit, is_open},
    coordinators::{Coordinators, Head, SendError, status_of},
    gateway::Parts,
    places::Place,
    problems,
    rates::hash_of,
    request_headers::{self, outgoing},
    source::{Fault, Source},
    tokens::Standing,
};
use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, request, uri::PathAndQuery},
};
use hyper::body::{Frame, Incoming, SizeHint};
use muster_coordinator::instant_now;
use muster_http::{Peer, Problem, bearer, request_id};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, timeout_at};

/// Passes a request on. Strangers are turned away before anything of theirs is read or remembered.
pub(crate) async fn pass(
    State(gateway): State<Arc<Parts>>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let peer = request.extensions().get().and_then(|peer: &Peer| peer.0);
    let address = peer.ok_or_else(|| Problem::internal(&"a request from nowhere"))?;
    gateway.limiter.count_address(address, instant_now())?;
    let (parts, body) = request.into_parts();
    admit(&parts, &gateway.rules)?;
    let mut stay = RequestHold { places: vec![gateway.room.take_for(address)?], until: None };
    if is_open(parts.uri.path()) {
        stay.until = Some(instant_now() + gateway.open_max);
    } else {
        stay.places.push(check_token(&gateway, &parts.headers).await?);
    }
    let delivery = Delivery { until: stay.until, ..delivery(&gateway, parts, body)? };
    let answer = delivery.deliver(&gateway.coordinators).await?;
    passed_on(answer, stay)
}

/// Asks whether the coordinator knows the token, and only then counts it: nobody can use up another's rate or places by
/// guessing.
async fn check_token(gateway: &Arc<Parts>, headers: &HeaderMap) -> Result<Place, Problem> {
    let token = bearer(headers).ok_or_else(problems::invalid_token)?;
    let asking = || ask(Arc::clone(gateway), token.to_owned());
    match gateway.tokens.standing(token, asking).await {
        Standing::Known => {}
        Standing::Unknown => return Err(problems::invalid_token()),
        Standing::Unclear(problem) => return Err(problem),
    }
    gateway.limiter.count_key(token, instant_now())?;
    Ok(gateway.room_of_keys.take(hash_of(token))?)
}

async fn ask(gateway: Arc<Parts>, token: String) -> Standing {
    let Ok(mut authorization) = HeaderValue::try_from(format!("Bearer {token}")) else {
        return Standing::Unknown;
    };
    authorization.set_sensitive(true);
    let headers = [(header::AUTHORIZATION, authorization)].into_iter().collect();
    let head = Head { method: Method::GET, path: PathAndQuery::from_static("/auth/me"), headers };
    let source = Source::new(Body::empty(), 0, true);
    match (Delivery { head, source, answer_max: ASK_MAX, until: None }).deliver(&gateway.coordinators).await {
        Err(problem) => Standing::Unclear(problem),
        Ok(answer) => match status_of(answer).await {
            StatusCode::OK => Standing::Known,
            StatusCode::UNAUTHORIZED => Standing::Unknown,
            status => {
                tracing::warn!(status = status.as_u16(), "a coordinator does not say whose a token is");
                Standing::Unclear(Problem::busy("the coordinator does not say whose the token is"))
            }
        },
    }
}

fn delivery(gateway: &Parts, parts: request::Parts, body: Body) -> Result<Delivery, Problem> {
    let peer = parts.extensions.get::<Peer>().copied();
    let length_max = gateway.rules.body_max(parts.uri.path(), &parts.headers);
    let path = parts.uri.path_and_query().filter(|path| path.as_str().starts_with('/')).cloned();
    let path = path.ok_or_else(|| Problem::bad_request("the target must be a path"))?;
    let headers = outgoing(&parts.headers, peer, request_id(&parts.headers));
    let head = Head { method: parts.method, path, headers };
    let source = Source::new(body, length_max, may_repeat(&head));
    Ok(Delivery { head, source, answer_max: gateway.answer_max, until: None })
}

/// A question that anybody can answer at once.
const ASK_MAX: Duration = Duration::from_secs(5);

/// A request that is to be delivered.
pub(crate) struct Delivery {
    pub(crate) head: Head,
    pub(crate) source: Source,
    /// From the last piece of the body to the head of the answer.
    pub(crate) answer_max: Duration,
    /// When it is given up, however far it came.
    pub(crate) until: Option<Instant>,
}

impl Delivery {
    /// Delivers the request and brings back the answer as it begins.
    ///
    /// Each coordinator that is ready is tried, as long as nothing has left for any before it. A request of which
    /// something may have arrived is sent again only if it may be; then also to the same coordinator, once, because a
    /// connection can break without it.
    pub(crate) async fn deliver(&self, to: &Coordinators) -> Result<Response<Incoming>, Problem> {
        let ready = to.ready();
        let mut problem = problems::nobody();
        for place in ready.iter().chain(ready.first()) {
            let Some(body) = self.source.again() else {
                break;
            };
            if !to.is_ready_at(*place) {
                continue;
            }
            match self.within_time(to.send(*place, self.head.clone(), body)).await? {
                Ok(answer) => return Ok(answer),
                Err(_) if self.source.fault().is_some() => break,
                Err(SendError::NotSent) => {}
                Err(SendError::BrokeOff) => {
                    problem = problems::broke_off();
                    if !may_repeat(&self.head) {
                        break;
                    }
                }
            }
        }
        Err(self.source.fault().map_or(problem, |fault| self.blame(fault)))
    }

    async fn within_time<T>(&self, sending: impl Future<Output = T>) -> Result<T, Problem> {
        let mut sending = std::pin::pin!(sending);
        loop {
            if let Ok(sent) = timeout_at(self.due(), &mut sending).await {
                return Ok(sent);
            }
            // A piece of the body that came meanwhile moved it.
            if self.due() <= instant_now() {
                return Err(if self.source.is_whole() {
                    problems::no_answer()
                } else {
                    problems::too_slow()
                });
            }
        }
    }

    fn due(&self) -> Instant {
        let due = self.source.moved_at() + self.answer_max;
        self.until.map_or(due, |until| until.min(due))
    }

    fn blame(&self, fault: Fault) -> Problem {
        match fault {
            Fault::TooLong => Problem::too_large(self.source.length_max()),
            Fault::TooSlow => problems::too_slow(),
            Fault::BrokeOff | Fault::Superseded => Problem::bad_request("the body broke off"),
        }
    }
}

/// True if a request may arrive twice: it changes nothing, or the coordinator recognises it.
///
/// A key makes nothing recognised where the coordinator does not look at it: a poll that is repeated takes jobs that
/// nobody will do, a token that is renewed twice is lost.
pub(crate) fn may_repeat(head: &Head) -> bool {
    match head.method {
        Method::GET | Method::HEAD => true,
        Method::POST => is_recognised(head.path.path()) && head.headers.contains_key("idempotency-key"),
        _ => false,
    }
}

/// True if the coordinator reads `Idempotency-Key` there.
fn is_recognised(path: &str) -> bool {
    let is_retry = |beginning: &str| {
        let id = path.strip_prefix(beginning).and_then(|rest| rest.strip_suffix("/retry"));
        id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
    };
    RECOGNISED.contains(&path) || RETRIED.into_iter().any(is_retry)
}

const RECOGNISED: [&str; 4] = ["/jobs", "/jobs/batch", "/api/runs", "/api/schedules"];
/// Path prefixes before the id of the job or run to retry.
const RETRIED: [&str; 2] = ["/jobs/", "/api/runs/"];

/// Resources that a request holds until its answer has ended.
pub(crate) struct RequestHold {
    pub(crate) places: Vec<Place>,
    /// When it must have ended.
    pub(crate) until: Option<Instant>,
}

/// Makes the answer to the caller. Its body passes piece by piece, and keeps the request's places until its end.
pub(crate) fn passed_on(answer: Response<Incoming>, stay: RequestHold) -> Result<Response<Body>, Problem> {
    let (mut parts, body) = answer.into_parts();
    let has_two_lengths = parts.headers.contains_key(header::TRANSFER_ENCODING)
        && parts.headers.contains_key(header::CONTENT_LENGTH);
    // No request asks for another protocol.
    if has_two_lengths || parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(problems::broke_off());
    }
    request_headers::strip(&mut parts.headers);
    let time = stay.until.map(|until| Box::pin(tokio::time::sleep_until(until)));
    Ok(Response::from_parts(parts, Body::new(PassingBody { body, time, _places: stay.places })))
}

/// A body that passes, without trailers.
struct PassingBody<B> {
    body: B,
    time: Option<Pin<Box<Sleep>>>,
    _places: Vec<Place>,
}

impl<B> HttpBody for PassingBody<B>
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
    use axum::http::uri::PathAndQuery;
    use futures_util::{StreamExt, stream};
    use std::{convert::Infallible, time::Duration};

    fn repeats(method: Method, path: &'static str, lines: &[(&'static str, &str)]) -> bool {
        let headers = lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        may_repeat(&Head { method, path: PathAndQuery::from_static(path), headers: headers.collect() })
    }

    /// P16: only what changes nothing, or is recognised, may be sent again.
    #[test]
    fn a_post_is_not_repeated() {
        let keyed = [("idempotency-key", "k")];
        for (method, plain, with_key) in [
            (Method::GET, true, true),
            (Method::HEAD, true, true),
            (Method::POST, false, true),
            (Method::DELETE, false, false),
        ] {
            assert_eq!(repeats(method.clone(), "/jobs?x=1", &[]), plain, "{method}");
            assert_eq!(repeats(method.clone(), "/jobs?x=1", &keyed), with_key, "{method}");
        }
    }

    /// P16: a key counts where the coordinator looks at it, and nowhere else.
    #[test]
    fn a_key_counts_where_it_is_recognised() {
        let post = |path| repeats(Method::POST, path, &[("idempotency-key", "k")]);
        for path in RECOGNISED.into_iter().chain(["/jobs/7/retry", "/api/runs/r1/retry?x=1"]) {
            assert!(post(path), "{path}");
        }
        let others =
            ["/jobs/poll", "/jobs/work", "/auth/refresh", "/api-keys", "/jobs/", "/workers/register"];
        let no_retries =
            ["/jobs/retry", "/jobs//retry", "/jobs/7/x/retry", "/jobs/7/retry/", "/api/runs/r1/cancel"];
        for path in others.into_iter().chain(no_retries) {
            assert!(!post(path), "{path}");
        }
        assert!(!repeats(Method::POST, "/jobs/7/retry", &[]));
    }

    /// P16, I9: where time is limited, a reader who is always about to read on is let go; elsewhere a stream may last.
    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_let_go() {
        for (time, wanted) in [(Some(60), 3), (None, 10)] {
            let pieces = stream::iter(0..10).map(|_| Ok::<_, Infallible>(Bytes::from_static(b"x")));
            let time = time.map(|time| Box::pin(tokio::time::sleep(Duration::from_secs(time))));
            let body = PassingBody { body: Body::from_stream(pieces), time, _places: Vec::new() };
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
