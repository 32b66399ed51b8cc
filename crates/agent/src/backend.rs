//! The backend over HTTP: any that speaks contract N.

use crate::{
    Text,
    core::{Answer, BatchResponse, PullRequest, PulledWork, Refusal},
};
use muster_contract_nodes::{read_pull_answer, write_callbacks};
use muster_worker_kit::{
    call::{BODY_BYTES_MAX, millis},
    http::{Manner, Servers, Unanswered, because, below, body as body_of, detail, retry_after},
};
use reqwest::{Client, Response};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A backend, at one address or several, and who speaks to it.
///
/// All calls may be sent again: events are recognised by their ids, and a pull whose answer is lost is answered with
/// the same jobs again. So a try, to whoever counts them, is a round of all servers.
#[derive(Clone)]
pub struct Backend {
    pub(crate) client: Client,
    pub(crate) servers: Arc<Servers>,
    pub(crate) node: String,
    secret: String,
    /// Warnings of the last response.
    warned: Arc<Mutex<Vec<Text>>>,
}

impl Backend {
    /// A backend; `secret` proves that the node may speak (N3).
    #[must_use]
    pub fn new(client: Client, servers: Servers, node: &str, secret: &str) -> Self {
        let (servers, warned) = (Arc::new(servers), Arc::default());
        Self { client, servers, node: node.to_owned(), secret: secret.to_owned(), warned }
    }

    /// Sends a callback.
    pub async fn send(&self, body: Vec<u8>) -> Answer {
        let answer = match self.post("callback", body, Manner::repeatable(PATIENCE)).await {
            Ok(answer) => answer,
            Err(Unanswered::Silent { .. }) => return Answer::None,
            Err(Unanswered::Unavailable { after, .. }) => return later(after),
        };
        let (status, after) = (answer.status(), retry_after(&answer));
        let meaning = Answer::of(status.as_u16(), after.map(millis));
        match meaning {
            Answer::Refused(refusal) => {
                Answer::Refused(Refusal { detail: detail(answer).await.into(), ..refusal })
            }
            other => other,
        }
    }

    /// Sends callbacks in one request, in order (N25), or one alone; the answers are in the same order.
    pub async fn send_all(&self, mut bodies: Vec<Vec<u8>>) -> Vec<Answer> {
        if bodies.len() == 1 {
            return vec![self.send(bodies.remove(0)).await];
        }
        let (count, body) = (bodies.len(), write_callbacks(&bodies));
        let mut answer = match self.post("callbacks", body, Manner::repeatable(PATIENCE)).await {
            Ok(answer) => answer,
            Err(Unanswered::Silent { .. }) => return vec![Answer::None; count],
            Err(Unanswered::Unavailable { after, .. }) => return vec![later(after); count],
        };
        let (status, retry_after) = (answer.status().as_u16(), retry_after(&answer).map(millis));
        match body_of(&mut answer, BODY_BYTES_MAX).await {
            Ok(body) => {
                let body = body.unwrap_or_default();
                let answers = BatchResponse { status, retry_after, body: &body }.answers(count);
                if answers.contains(&Answer::Separately) {
                    tracing::warn!(
                        status,
                        "the backend does not take several events at once; each is sent alone"
                    );
                }
                answers
            }
            Err(_) => vec![Answer::None; count],
        }
    }

    /// Asks for work; the words of an error are for people.
    ///
    /// # Errors
    /// No answer came, or none that makes sense.
    pub async fn pull(&self, request: &PullRequest) -> Result<PulledWork, String> {
        let wait = u64::try_from(request.wait.unwrap_or_default().0).unwrap_or(0);
        let patience = PATIENCE + Duration::from_millis(wait);
        let body = request.write(&self.node);
        let manner = Manner::repeatable(patience).waiting();
        let answer = self.post("pull", body, manner).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("{status}: {}", detail(answer).await));
        }
        let bytes = answer.bytes().await.map_err(|error| because(&error))?;
        let (answer, left_out) = read_pull_answer(&bytes).map_err(|error| error.to_string())?;
        if left_out > 0 {
            tracing::error!(left_out, "the backend handed out jobs that make no sense; they were left out");
        }
        self.warn(&answer.warnings);
        Ok(answer)
    }

    /// Tells what the backend warns of, when it begins to: an answer comes every few seconds.
    fn warn(&self, warnings: &[Text]) {
        let mut told = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings.iter().filter(|warning| !told.contains(warning)) {
            tracing::warn!("{warning}");
        }
        *told = warnings.to_vec();
    }

    /// Posts JSON as the node.
    pub(crate) async fn post(
        &self,
        what: &str,
        body: Vec<u8>,
        manner: Manner,
    ) -> Result<Response, Unanswered> {
        let request = |server: &_| {
            let request = self.client.post(below(server, ["api", "nodes", what])).bearer_auth(&self.secret);
            request.header("content-type", "application/json").body(body.clone())
        };
        self.servers.ask(manner, request).await
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend")
            .field("servers", &self.servers)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

fn later(after: Option<Duration>) -> Answer {
    Answer::Later(after.map(millis))
}

const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Millis;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    /// Sends a callback that is answered with these bytes; anything that follows it is answered 200.
    async fn answered(first: &'static str) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for answer in [first, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await;
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let servers = Servers::parse([url.as_str()]).unwrap();
        let client = servers.client().no_proxy().build().unwrap();
        Backend::new(client, servers, "PC-01", "secret").send(b"{}".to_vec()).await
    }

    /// N19: 2xx acks, 401, 408, 429 and 5xx are tried again, any other 4xx is refused; a redirect to a page is no ack.
    #[tokio::test]
    async fn each_status_has_its_meaning() {
        let close = "connection: close\r\ncontent-length: 0\r\n\r\n";
        for (status, meaning) in [
            ("204 No Content", Answer::Taken),
            ("302 Found\r\nlocation: /login", Answer::Later(None)),
            ("303 See Other\r\nlocation: /login", Answer::Later(None)),
            ("401 Unauthorized", Answer::Later(None)),
            ("408 Request Timeout", Answer::Later(None)),
            ("429 Too Many Requests\r\nretry-after: 7", Answer::Later(Some(Millis(7_000)))),
            ("503 Service Unavailable", Answer::Later(None)),
            ("404 Not Found", Answer::Refused(Refusal { status: 404, detail: "".into() })),
        ] {
            let text = format!("HTTP/1.1 {status}\r\n{close}").leak();
            assert_eq!(answered(text).await, meaning, "{status}");
        }
    }

    /// N1, N19, N20, S19: with several servers one try is a round of all: a report and a pull are answered by the one
    /// that is there, without a pause, and only where none is there it is told that nobody answered.
    #[tokio::test]
    async fn a_try_is_a_round_of_all_servers() {
        let answers = ["200 OK", "200 OK", "503 Service Unavailable\r\nretry-after: 7"];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let urls = format!("http://127.0.0.1:1,http://127.0.0.1:2,http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            for status in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await;
                let answer =
                    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let servers = Servers::parse([urls.as_str()]).unwrap();
        let client = servers.client().no_proxy().build().unwrap();
        let backend = Backend::new(client, servers, "PC-01", "secret");
        assert_eq!(backend.send(b"{}".to_vec()).await, Answer::Taken);
        let request = PullRequest { number: 1, max_jobs: 1, wait: None, devices: None };
        assert!(backend.pull(&request).await.is_ok());
        assert_eq!(backend.send(b"{}".to_vec()).await, Answer::Later(Some(Millis(7_000))));
        serving.await.unwrap();
        assert_eq!(backend.send(b"{}".to_vec()).await, Answer::None);
    }
}
