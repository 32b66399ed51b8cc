//! Messages as JSON for any address that takes a POST (C18).

use super::{
    super::{Answer, EnvoyError, Post, Receipt},
    patience, reach,
};
use muster_worker_kit::http::{because, detail};
use reqwest::{Client, Url};
use serde_json::{Value, json};

/// Somebody's address.
pub(in super::super) struct Webhook {
    client: Client,
    url: Url,
}

impl Webhook {
    pub(in super::super) fn new(address: &str) -> Result<Self, EnvoyError> {
        let (client, url) = reach("envoy.base_url", address)?;
        Ok(Self { client, url })
    }

    pub(super) async fn post(&self, post: &Post) -> Answer {
        let answer = match self.client.post(self.url.clone()).json(&wire(post)).send().await {
            Ok(answer) => answer,
            Err(error) => return Answer::Failed(because(&error.without_url())),
        };
        if let Some(wait) = patience(&answer) {
            return Answer::Limited(wait);
        }
        if answer.status().is_success() {
            return Answer::Posted(Receipt { ts: post.id.to_string(), channel_id: None });
        }
        Answer::Failed(format!("the webhook answered {}: {}", answer.status(), detail(answer).await))
    }
}

/// The message as it travels; its text is as it was written, whoever shows it must know what is markup there.
fn wire(post: &Post) -> Value {
    json!({
        "text": post.text,
        "id": post.id.as_str(),
        "type": post.kind,
        "channel": post.channel,
        "urgency": post.urgency,
        "task_id": post.task_id,
        "thread": post.thread_ts,
    })
}
