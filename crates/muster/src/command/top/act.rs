//! Has done what the screen wants done, and tells it what came of that.

use super::{
    event_line::Subject,
    prompt::Order,
    state::{Action, Input},
};
use crate::{
    client::{Client, ClientError},
    reason::Reason,
};
use serde_json::{Value, json};

/// Does it; there is nothing to say when it was to quit.
pub(super) async fn act(client: &Client, action: Action) -> Option<Input> {
    match action {
        Action::Quit => None,
        Action::Explain(subject) => {
            let text = explain(client, &subject).await.unwrap_or_else(|error| error.to_string());
            Some(Input::Text(format!("{} {}", subject.kind, subject.id), text))
        }
        Action::Order(order, words) => {
            let answer = carry_out(client, &order, &words).await;
            Some(Input::Done(answer.map_or_else(|error| error.to_string(), |_| order.done())))
        }
    }
}

/// The sentence, and the rule that it comes from (Q16).
async fn explain(client: &Client, subject: &Subject) -> Result<String, ClientError> {
    let why = client.get(&["api", "explain", subject.kind, &subject.id], &[]).await?;
    let word = |name: &str| why[name].as_str().unwrap_or_default().replace(char::is_control, "\u{fffd}");
    let (sentence, code, rule) = (word("sentence"), word("code"), word("rule"));
    Ok(format!("{sentence}\n\n{code} ({rule})"))
}

async fn carry_out(client: &Client, order: &Order, words: &str) -> Result<Value, ClientError> {
    let given = Some(words).filter(|words| !words.is_empty());
    let reason = given.map_or_else(Reason::default, Reason::because);
    match order {
        Order::Drain(node) => client.order(&["api", "nodes", node, "drain"], &reason).await,
        Order::Resume(node) => client.order(&["api", "nodes", node, "resume"], &reason).await,
        Order::Return(device) => {
            client.post(&["api", "devices", device, "return"], &json!({"note": given})).await
        }
        Order::Cancel(run) => client.order(&["api", "runs", run, "cancel"], &reason).await,
    }
}
