//! Asks Slack for replies to open questions, for courts that Slack cannot reach (C18).

use super::{
    outlet::{Slack, SlackError, Thread},
    replies::{Question, Reply},
    said::Said,
};
use crate::{Clock, Folder, Id};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Looks after the threads of open questions.
pub(super) struct Poll {
    folder: Arc<Folder>,
    slack: Slack,
    every: Duration,
    /// The last question that Slack was asked about.
    last: Option<Id>,
    /// What is known to be wrong: a thread that was deleted would be complained of every few seconds.
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
            let said = page.messages.iter().filter_map(Said::by_somebody);
            for said in said.filter(|said| question.is_before(&said.ts)) {
                self.tell(question, said);
            }
            match page.next() {
                Some(next) => next.clone_into(&mut cursor),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// What cannot be kept now is met again in the next round.
    fn tell(&self, question: &Question, said: Said) {
        let reply = Reply { text: said.text, ts: said.ts };
        if let Err(error) = question.answer(&self.folder, &reply, Clock.now()) {
            tracing::warn!(task = %question.task_id, %error, "a reply cannot be kept");
        }
    }
}

/// No thread of ours is longer than ten thousand messages.
const PAGES_MAX: usize = 50;
