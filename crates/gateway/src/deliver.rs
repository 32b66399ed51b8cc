//! Brings a request to a coordinator, and to another one only if that cannot do it twice (P16).

use crate::{
    coordinators::{Coordinators, Head, SendError},
    problems,
    source::{Fault, Source},
};
use axum::http::{HeaderMap, Method, Response};
use hyper::body::Incoming;
use muster_door::Problem;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A request that is to be delivered.
pub(crate) struct Delivery {
    pub(crate) head: Head,
    pub(crate) source: Source,
    /// From the last piece of the body to the head of the answer.
    pub(crate) answer_max: Duration,
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
                    if !may_repeat(&self.head.method, &self.head.headers) {
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
            if self.due() <= Instant::now() {
                return Err(problems::no_answer());
            }
        }
    }

    fn due(&self) -> Instant {
        self.source.moved_at() + self.answer_max
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
pub(crate) fn may_repeat(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET || *method == Method::HEAD || headers.contains_key("idempotency-key")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: only what changes nothing, or is recognised, may be sent again.
    #[test]
    fn a_post_is_not_repeated() {
        let mut keyed = HeaderMap::new();
        keyed.insert("idempotency-key", "k".parse().unwrap());
        for (method, plain, with_key) in [
            (Method::GET, true, true),
            (Method::HEAD, true, true),
            (Method::POST, false, true),
            (Method::DELETE, false, true),
        ] {
            assert_eq!(may_repeat(&method, &HeaderMap::new()), plain, "{method}");
            assert_eq!(may_repeat(&method, &keyed), with_key, "{method}");
        }
    }
}
