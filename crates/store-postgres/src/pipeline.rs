//! Many statements, one round trip.

use crate::value::Argument;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};
use tokio_postgres::{Client, Error, Statement};

/// A statement with all it needs.
pub(crate) struct Step {
    pub(crate) statement: Statement,
    pub(crate) parameters: Vec<Argument>,
}

impl Step {
    /// A statement without parameters.
    pub(crate) fn bare(statement: Statement) -> Self {
        Self { statement, parameters: Vec::new() }
    }
}

/// Sends all steps at once, then waits for what came of each; answers how many rows each concerned.
///
/// The first error is the cause: whatever follows it in a transaction fails because of it. A step that cannot even be
/// sent keeps those after it from being sent, a COMMIT among them.
pub(crate) async fn run(client: &Client, steps: &[Step]) -> Result<Vec<u64>, Error> {
    let mut replies: Vec<_> = steps
        .iter()
        .map(|step| Reply::Expected(Box::pin(client.execute_raw(&step.statement, &step.parameters))))
        .collect();
    let mut is_sent = false;
    poll_fn(|context| {
        for number in 0..replies.len() {
            let failed = replies[number].poll(context);
            if failed && !is_sent {
                replies.truncate(number + 1);
                break;
            }
        }
        is_sent = true;
        if replies.iter().all(Reply::is_there) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    replies.into_iter().map(Reply::into_result).collect()
}

/// What comes of a step.
enum Reply<F> {
    Expected(Pin<Box<F>>),
    There(Result<u64, Error>),
}

impl<F: Future<Output = Result<u64, Error>>> Reply<F> {
    /// Sends what was not sent, and looks for the answer; answers whether that is an error.
    fn poll(&mut self, context: &mut std::task::Context<'_>) -> bool {
        if let Self::Expected(future) = self
            && let Poll::Ready(result) = future.as_mut().poll(context)
        {
            *self = Self::There(result);
        }
        matches!(self, Self::There(Err(_)))
    }

    fn is_there(&self) -> bool {
        matches!(self, Self::There(_))
    }

    fn into_result(self) -> Result<u64, Error> {
        match self {
            Self::There(result) => result,
            Self::Expected(_) => unreachable!("all answers were waited for"),
        }
    }
}
