//! Open questions, and the events that replies to them become (C8, C14, C18).

use super::outlet::{Slack, SlackError, SlackMessage, Thread};
use crate::{
    Clock, Document, Fault, Folder, Id, Place,
    document::document,
    emit::emit,
    file::{self, reply_event, slack_event},
};
use jiff::Timestamp;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// A question that waits for an answer in some thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// The task that asks.
    task_id: Id,
    /// The channel, as the other side calls it where that is known.
    channel_id: String,
    /// The thread it was asked in.
    thread_ts: String,
    /// The post that asks.
    asked_ts: String,
    /// From when on answers count: a crash may have repeated the post, and somebody have answered the first.
    since_ts: String,
    document: Document,
}

impl Question {
    /// The open questions that were asked in a thread.
    fn all_open(folder: &Folder) -> Result<Vec<Self>, Fault> {
        let mut questions = Vec::new();
        for task in folder.ids(Place::QuestionsOpen)? {
            if close_answered(folder, &task)? {
                continue;
            }
            let document = folder.read_or_reject(Place::QuestionsOpen, &task)?;
            questions.extend(document.and_then(|document| Self::of(task, document)));
        }
        Ok(questions)
    }

    /// The open question that a post in a thread answers: the last one that is known to have been asked before it.
    pub(super) fn answered_by(
        folder: &Folder,
        channel: &str,
        thread_ts: &str,
        ts: &str,
    ) -> Result<Option<Self>, Fault> {
        let mut questions = Self::all_open(folder)?;
        questions.retain(|question| question.is_in(channel, thread_ts) && question.is_before(ts));
        let age = |question: &Self| {
            let asked = instant(&question.asked_ts);
            (asked < instant(ts), asked)
        };
        Ok(questions.into_iter().max_by_key(age))
    }

    /// True if a post came after the question.
    fn is_before(&self, ts: &str) -> bool {
        instant(ts).is_some_and(|ts| Some(ts) > instant(&self.since_ts))
    }

    /// Makes a reply an event; one that is known already is dropped (C8).
    pub(super) fn answer(&self, folder: &Folder, reply: &SlackMessage, now: Timestamp) -> Result<(), Fault> {
        let channel = self.document.text("channel").unwrap_or_else(|| self.channel_id.clone());
        let context = self.document.raw("reply_context").map(str::to_owned);
        let context = context.unwrap_or_else(|| document! {"task_id": self.task_id}.to_json());
        let mut payload = document! {"text": reply.text, "channel": channel, "thread_ts": self.thread_ts};
        payload.set_raw("reply_context", context);
        emit(folder, reply_event(&self.thread_ts, &reply.ts, &payload), now).map(|_| ())
    }

    fn of(task_id: Id, document: Document) -> Option<Self> {
        let thread_ts = document.text("thread_ts").filter(|ts| is_ts(ts))?;
        let asked_ts = document.text("asked_ts").filter(|ts| is_ts(ts)).unwrap_or_else(|| thread_ts.clone());
        let channel_id = document.text("channel_id").or_else(|| document.text("channel"))?;
        let since_ts = since(&document, &asked_ts);
        Some(Self { task_id, channel_id, thread_ts, asked_ts, since_ts, document })
    }

    fn is_in(&self, channel: &str, thread_ts: &str) -> bool {
        let is_channel =
            self.channel_id == channel || self.document.text("channel").as_deref() == Some(channel);
        is_channel && self.thread_ts == thread_ts
    }
}

impl SlackMessage {
    /// Makes something that was said to the court alone an event; one that is known already is dropped (C8).
    pub(super) fn tell(&self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        let Self { text, user, channel, ts, .. } = self;
        let payload = document! {"text": text, "user": user, "channel": channel, "ts": ts};
        let id = format!("evt-slack-msg-{}", ts.replace('.', "-"));
        emit(folder, slack_event(&id, "slack.dm.message", "normal", &payload), now).map(|_| ())
    }
}

/// Removes a question from the open ones where it is among the answered ones; says whether it was.
///
/// The king may close a question in the very moment in which the envoy writes down where it was asked.
pub(super) fn close_answered(folder: &Folder, task: &Id) -> Result<bool, Fault> {
    let is_answered = folder.has(Place::QuestionsAnswered, task);
    if is_answered {
        folder.remove(Place::QuestionsOpen, task)?;
    }
    Ok(is_answered)
}

/// When a question was written down, as Slack tells time, or when it was posted: whichever was first, for the two clocks
/// may differ.
fn since(question: &Document, asked_ts: &str) -> String {
    let written = question.text("asked_at").and_then(|text| file::instant(&text));
    let written = written.map(|at| format!("{}.{:06}", at.as_second(), at.subsec_microsecond()));
    let written = written.filter(|ts| is_ts(ts) && instant(ts) < instant(asked_ts));
    written.unwrap_or_else(|| asked_ts.to_owned())
}

/// True if a text is one of Slack's timestamps, which name posts.
pub(super) fn is_ts(text: &str) -> bool {
    instant(text).is_some()
}

/// Seconds and what is behind the point, as numbers that can be compared.
fn instant(ts: &str) -> Option<(u64, u64)> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(seconds) || !are_digits(fraction) || fraction.len() > FRACTION_DIGITS_MAX {
        return None;
    }
    let fraction = format!("{fraction:0<FRACTION_DIGITS_MAX$}");
    Some((seconds.parse().ok()?, fraction.parse().ok()?))
}

/// Looks after the threads of open questions.
pub(super) struct Poll {
    folder: Arc<Folder>,
    slack: Slack,
    every: Duration,
    /// The last question that Slack was asked about.
    last: Option<Id>,
    /// Known errors by task: a deleted thread must not be logged every few seconds.
    complaints: BTreeMap<Id, String>,
}

impl Poll {
    pub(super) const fn new(folder: Arc<Folder>, slack: Slack, every: Duration) -> Self {
        Self { folder, slack, every, last: None, complaints: BTreeMap::new() }
    }

    /// Looks until told to stop.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let patience = self.round().await;
            let pause = patience.unwrap_or_default().max(self.every);
            let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }

    /// Asks for each question once, beginning after the last one that Slack wanted to hear of; says how long Slack wants
    /// to be left alone.
    async fn round(&mut self) -> Option<Duration> {
        for question in self.questions() {
            match self.ask(&question).await {
                Ok(()) => drop(self.complaints.remove(&question.task_id)),
                Err(SlackError::Limited(wait)) => return Some(wait),
                Err(SlackError::Refused(error)) => self.complain(&question.task_id, error),
            }
            self.last = Some(question.task_id);
        }
        None
    }

    fn questions(&mut self) -> Vec<Question> {
        let mut questions = Question::all_open(&self.folder).unwrap_or_else(|error| {
            tracing::warn!(%error, "the open questions cannot be read");
            Vec::new()
        });
        questions.sort_by(|one, other| one.task_id.cmp(&other.task_id));
        self.complaints.retain(|task, _| questions.iter().any(|question| question.task_id == *task));
        let begin = questions.partition_point(|question| Some(&question.task_id) <= self.last.as_ref());
        questions.rotate_left(begin);
        questions
    }

    fn complain(&mut self, task: &Id, error: String) {
        if self.complaints.get(task) != Some(&error) {
            tracing::warn!(%task, %error, "replies to a question cannot be read; Slack is asked again and again");
            self.complaints.insert(task.clone(), error);
        }
    }

    /// Reads what was said after a question, and makes it events.
    async fn ask(&self, question: &Question) -> Result<(), SlackError> {
        let mut cursor = String::new();
        for _ in 0..PAGES_MAX {
            let thread = Thread {
                channel: &question.channel_id,
                ts: &question.thread_ts,
                from: &question.since_ts,
                cursor: &cursor,
            };
            let page = self.slack.replies(thread).await?;
            let said = page.messages.iter().filter_map(SlackMessage::by_somebody);
            for said in said.filter(|said| question.is_before(&said.ts)) {
                // A reply that cannot be written now is found again in the next round.
                if let Err(error) = question.answer(&self.folder, &said, Clock.now()) {
                    tracing::warn!(task = %question.task_id, %error, "a reply cannot be kept");
                }
            }
            match page.next() {
                Some(next) => next.clone_into(&mut cursor),
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

const FRACTION_DIGITS_MAX: usize = 9;
/// No thread of ours is longer than ten thousand messages.
const PAGES_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    /// C14, C18: a crash may repeat the post that asks; who answered the first one is heard. What was said before the
    /// question was written down is no answer, and a clock that is ahead silences nobody.
    #[test]
    fn an_answer_to_the_first_copy_counts() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let ask = |task: &str, asked_at: &str, asked_ts: &str| {
            let mut question = Document::new();
            question.set("task_id", task).set("asked_at", asked_at).set("channel", "C1");
            question.set("thread_ts", "1600.000100").set("asked_ts", asked_ts);
            let id = Id::parse(task).unwrap();
            folder.write(Place::QuestionsOpen, &id, &question).unwrap();
        };
        let answered = |ts: &str| {
            let question = Question::answered_by(&folder, "C1", "1600.000100", ts).unwrap();
            question.map(|question| question.task_id.to_string())
        };
        ask("task-2", "1970-01-01T00:28:20Z", "1720.000300");
        assert_eq!(answered("1699.999999"), None);
        assert_eq!(answered("1710.000000").as_deref(), Some("task-2"));
        ask("task-1", "2026-02-07T10:00:00Z", "1705.000000");
        assert_eq!(answered("1710.000000").as_deref(), Some("task-1"), "the only one that was surely asked");
        assert_eq!(answered("1730.000000").as_deref(), Some("task-2"));
    }
}
