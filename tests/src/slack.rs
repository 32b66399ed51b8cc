//! A Slack that exists only here: it takes posts, and shows the replies it is told of.

use crate::{Reply, StandIn, Visit};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A workspace on a port of its own; gone with the value.
#[derive(Debug)]
pub struct Slack {
    stand_in: StandIn,
    workspace: Arc<Mutex<Workspace>>,
}

/// One post that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct SlackPost {
    /// The message's id, as the metadata has it.
    pub id: String,
    /// The task it belongs to, as the metadata has it.
    pub task: Option<String>,
    /// Where it was posted.
    pub channel: String,
    /// The thread that it was posted into.
    pub thread_ts: Option<String>,
    /// What people read.
    pub text: String,
    /// Its own name.
    pub ts: String,
}

#[derive(Debug, Default)]
struct Workspace {
    posts: Vec<SlackPost>,
    said: Vec<Value>,
    /// Every so many posts one is refused with 429; never where it is 0.
    patience_every: usize,
    asked: usize,
}

impl Slack {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        let workspace: Arc<Mutex<Workspace>> = Arc::default();
        let inside = Arc::clone(&workspace);
        let stand_in = StandIn::start(move |visit| inside.lock().unwrap().answer(visit));
        Self { stand_in, workspace }
    }

    /// Where it is, as `base_url` of an envoy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/api", self.stand_in.url())
    }

    /// Asks for patience of a second with every so many-th post from now on.
    pub fn ask_for_patience(&self, every: usize) {
        self.workspace.lock().unwrap().patience_every = every;
    }

    /// Every post that was taken, in order.
    #[must_use]
    pub fn posts(&self) -> Vec<SlackPost> {
        self.workspace.lock().unwrap().posts.clone()
    }

    /// The posts of one task, in order.
    #[must_use]
    pub fn posts_of(&self, task: &str) -> Vec<SlackPost> {
        self.posts().into_iter().filter(|post| post.task.as_deref() == Some(task)).collect()
    }

    /// How many were taken.
    #[must_use]
    pub fn count(&self) -> usize {
        self.workspace.lock().unwrap().posts.len()
    }

    /// Has a person say something in a thread, for whoever asks; gives its name.
    pub fn say(&self, thread_ts: &str, text: &str) -> String {
        let mut workspace = self.workspace.lock().unwrap();
        let ts = workspace.next_ts();
        let said = json!({"type": "message", "user": "U1", "text": text, "ts": ts, "thread_ts": thread_ts});
        workspace.said.push(said);
        ts
    }
}

impl Workspace {
    fn answer(&mut self, visit: &Visit) -> Reply {
        if visit.header("authorization") != Some(&format!("Bearer {SLACK_TOKEN}")) {
            return Reply::json(200, &json!({"ok": false, "error": "invalid_auth"}));
        }
        match visit.path() {
            "/api/chat.postMessage" => self.post(&visit.json()),
            "/api/conversations.replies" => self.replies(visit.query("ts").unwrap_or_default()),
            _ => Reply::json(404, &json!({"ok": false, "error": "unknown_method"})),
        }
    }

    fn post(&mut self, body: &Value) -> Reply {
        self.asked += 1;
        if self.patience_every > 0 && self.asked.is_multiple_of(self.patience_every) {
            return Reply::json(429, &json!({"ok": false, "error": "ratelimited"}))
                .header("retry-after", "1");
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (ts, about) = (self.next_ts(), &body["metadata"]["event_payload"]);
        let post = SlackPost {
            id: text(&about["id"]).unwrap_or_default(),
            task: text(&about["task_id"]),
            channel: text(&body["channel"]).unwrap_or_default(),
            thread_ts: text(&body["thread_ts"]),
            text: text(&body["text"]).unwrap_or_default(),
            ts: ts.clone(),
        };
        self.posts.push(post);
        Reply::json(200, &json!({"ok": true, "channel": "C1", "ts": ts}))
    }

    fn replies(&self, thread_ts: &str) -> Reply {
        let said: Vec<_> = self.said.iter().filter(|said| said["thread_ts"] == thread_ts).collect();
        Reply::json(200, &json!({"ok": true, "messages": said, "has_more": false}))
    }

    fn next_ts(&self) -> String {
        format!("1770000000.{:06}", self.posts.len() + self.said.len() + 1)
    }
}

/// The token that this Slack wants.
pub const SLACK_TOKEN: &str = "xoxb-of-tests";
