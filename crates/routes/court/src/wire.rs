//! Responses about a court.

use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// The files of a court by directory.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Court)]
pub struct Board {
    /// The places, in the order things go through them.
    pub places: Vec<Column>,
}

/// One place.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtPlace)]
pub struct Column {
    /// Its name.
    #[schema(example = "tasks/pending")]
    pub place: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Number of files; of failed tasks, those among the newest thousand that are over.
    pub count: usize,
    /// Number of items listed here.
    pub shown: usize,
    /// The newest of them, at most a hundred.
    pub items: Vec<Card>,
}

/// One file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtItem)]
pub struct Card {
    /// Its id.
    pub id: String,
    /// `event`, `task` or `message`.
    pub kind: &'static str,
    /// The title: the type of an event or a task, the content of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whose task it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub general: Option<String>,
    /// The priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The word in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Time of the last write, in epoch milliseconds.
    pub at: i64,
}

/// The questions that wait for people.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtInbox)]
pub struct Inbox {
    /// Number of open questions.
    pub count: usize,
    /// The oldest first, at most a hundred.
    pub questions: Vec<OpenQuestion>,
}

/// A question that nobody has answered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtQuestion)]
pub struct OpenQuestion {
    /// The task that cannot go on.
    pub task_id: String,
    /// Whose task it is.
    pub general: String,
    /// The question.
    pub question: String,
    /// Since when, in epoch milliseconds.
    pub asked_at: i64,
    /// The channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// In which thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_ts: Option<String>,
}

/// An answer that was taken.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtReplied)]
pub struct Replied {
    /// The event that brings it to the king.
    pub event_id: String,
}

/// Everything about one task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtStory)]
pub struct Story {
    /// The task; the event, while it was made none.
    pub task_id: String,
    /// The word of its status.
    pub state: String,
    /// The events of its life, oldest first.
    pub timeline: Vec<Station>,
    /// Its files as they are: `task`, `result`, `event`, `question`, as far as they are there.
    #[schema(value_type = Object)]
    pub documents: BTreeMap<&'static str, Box<RawValue>>,
}

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CourtStation)]
pub struct Station {
    /// The time in epoch milliseconds; without one of its own, that of the file's last write.
    pub at: i64,
    /// The directory of the file that tells.
    pub place: String,
    /// The description, in one sentence.
    pub what: String,
    /// The file, from the court's home.
    pub file: String,
}

/// An answer to a question.
#[derive(Clone, Copy, Debug)]
pub struct ReplyRequest;

impl PartialSchema for ReplyRequest {
    fn schema() -> RefOr<Schema> {
        use muster_http::schema::{closed, matching, must, schema};
        let text = matching(r"\S").max_length(Some(40_000));
        schema(must(closed(), "text", text))
    }
}

impl ToSchema for ReplyRequest {}
