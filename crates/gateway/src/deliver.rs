//! Brings a request to a coordinator, and to another one only if that cannot do it twice (P16).

use crate::{
    coordinators::{Coordinators, Head, SendError},
    problems,
    source::{Fault, Source},
};
use axum::http::{Method, Response};
use hyper::body::Incoming;
use muster_coordinator::instant_now;
use muster_http::Problem;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

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

/// Whether a request may arrive twice: it changes nothing, or the coordinator recognises it.
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

/// Whether the coordinator looks at `Idempotency-Key` there.
fn is_recognised(path: &str) -> bool {
    let is_retry = |beginning: &str| {
        let id = path.strip_prefix(beginning).and_then(|rest| rest.strip_suffix("/retry"));
        id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
    };
    RECOGNISED.contains(&path) || RETRIED.into_iter().any(is_retry)
}

const RECOGNISED: [&str; 4] = ["/jobs", "/jobs/batch", "/api/runs", "/api/schedules"];
/// What stands before the id of what is tried again.
const RETRIED: [&str; 2] = ["/jobs/", "/api/runs/"];

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::uri::PathAndQuery;

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
}
