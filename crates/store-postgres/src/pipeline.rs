//! Many statements, one round trip.

use crate::value::Argument;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use tokio_postgres::{Client, Error, Statement};

/// A statement with all it needs.
pub(crate) struct Step {
    pub(crate) statement: Statement,
    pub(crate) parameters: Vec<Argument>,
}

/// Runs all steps.
pub(crate) async fn run(client: &Client, steps: &[Step]) -> Result<(), Error> {
    let requests = steps.iter().map(|step| client.execute_raw(&step.statement, &step.parameters));
    all(requests).await.map(|_| ())
}

/// Sends all requests at once, then waits for what comes of each.
///
/// The first error is the cause: whatever follows it in a transaction fails because of it. A request that cannot even be
/// sent keeps those after it from being sent, a COMMIT among them.
pub(crate) async fn all<T, F>(requests: impl Iterator<Item = F>) -> Result<Vec<T>, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut replies: Vec<_> = requests.map(|request| Reply::Expected(Box::pin(request))).collect();
    let (mut is_sent, mut answered) = (false, 0);
    poll_fn(|context| {
        if !is_sent {
            let refused = replies.iter_mut().position(|reply| reply.is_refused(context));
            replies.truncate(refused.map_or(replies.len(), |number| number + 1));
            is_sent = true;
        }
        // Answers come in the order of the questions.
        while let Some(reply) = replies.get_mut(answered) {
            reply.is_refused(context);
            if !reply.is_there() {
                return Poll::Pending;
            }
            answered += 1;
        }
        Poll::Ready(())
    })
    .await;
    replies.into_iter().map(Reply::into_result).collect()
}

/// What comes of a request.
enum Reply<T, F> {
    Expected(Pin<Box<F>>),
    There(Result<T, Error>),
}

impl<T, F: Future<Output = Result<T, Error>>> Reply<T, F> {
    /// Sends what was not sent, and looks for the answer; answers whether that is an error.
    fn is_refused(&mut self, context: &mut Context<'_>) -> bool {
        if let Self::Expected(request) = self
            && let Poll::Ready(result) = request.as_mut().poll(context)
        {
            *self = Self::There(result);
        }
        matches!(self, Self::There(Err(_)))
    }

    fn is_there(&self) -> bool {
        matches!(self, Self::There(_))
    }

    fn into_result(self) -> Result<T, Error> {
        match self {
            Self::There(result) => result,
            Self::Expected(_) => unreachable!("all answers were waited for"),
        }
    }
}
