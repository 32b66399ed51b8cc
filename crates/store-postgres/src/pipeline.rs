//! Many requests, one round trip.

use crate::value::Argument;
use futures_util::TryStreamExt;
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use tokio_postgres::{Client, Error, Row, Statement};

/// A statement with all it needs.
pub(crate) struct Step {
    pub(crate) statement: Statement,
    pub(crate) parameters: Vec<Argument>,
}

/// Runs all steps. The first error is the cause: whatever follows it in a transaction fails because of it.
pub(crate) async fn run(client: &Client, steps: &[Step]) -> Result<(), Error> {
    rows_of(client, steps).await.map(|_| ())
}

/// Runs all steps; answers the rows that they answered.
pub(crate) async fn rows_of(client: &Client, steps: &[Step]) -> Result<Vec<Row>, Error> {
    let requests = steps.iter().map(|step| async move {
        client.query_raw(&step.statement, &step.parameters).await?.try_collect::<Vec<Row>>().await
    });
    let (mut pipeline, mut rows) = (Pipeline::new(requests), Vec::new());
    while let Some(some) = pipeline.next().await? {
        rows.extend(some);
    }
    Ok(rows)
}

/// Requests that are sent at once and answered one after the other.
pub(crate) struct Pipeline<F, T> {
    replies: VecDeque<Reply<F, T>>,
    is_sent: bool,
}

/// What comes of a request.
enum Reply<F, T> {
    Expected(Pin<Box<F>>),
    There(Result<T, Error>),
}

impl<T, F: Future<Output = Result<T, Error>>> Pipeline<F, T> {
    pub(crate) fn new(requests: impl Iterator<Item = F>) -> Self {
        Self { replies: requests.map(|request| Reply::Expected(Box::pin(request))).collect(), is_sent: false }
    }

    /// The next answer, in the order of the requests; `None`: that was all.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, Error> {
        poll_fn(|context| {
            self.send(context);
            if let Some(reply) = self.replies.front_mut() {
                reply.look(context);
            }
            match self.replies.pop_front() {
                None => Poll::Ready(Ok(None)),
                Some(Reply::There(answer)) => Poll::Ready(answer.map(Some)),
                Some(expected) => {
                    self.replies.push_front(expected);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Sends everything. A request that cannot be sent keeps those after it from being sent, a COMMIT among them.
    fn send(&mut self, context: &mut Context<'_>) {
        if !std::mem::replace(&mut self.is_sent, true) {
            let refused = self.replies.iter_mut().position(|reply| reply.look(context));
            self.replies.truncate(refused.map_or(self.replies.len(), |place| place + 1));
        }
    }
}

impl<T, F: Future<Output = Result<T, Error>>> Reply<F, T> {
    /// Looks for the answer, which also sends what was not sent; answers whether it is an error.
    fn look(&mut self, context: &mut Context<'_>) -> bool {
        if let Self::Expected(request) = self
            && let Poll::Ready(answer) = request.as_mut().poll(context)
        {
            *self = Self::There(answer);
        }
        matches!(self, Self::There(Err(_)))
    }
}
