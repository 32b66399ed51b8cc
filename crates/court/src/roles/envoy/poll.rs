//! Asks Slack for replies to open questions, for courts that Slack cannot reach (C18).

use super::{
    outlet::{Slack, SlackError, Thread},
    replies::{Question, Reply},
    said::Said,
};
use crate::{Clock, Folder, Id};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Looks after the threads of open questions.
pub(super) struct Poll {
    pub(super) folder: Arc<Folder>,
    pub(super) slack: Slack,
    pub(super) every: Duration,
}

impl Poll {
    /// Looks until told to stop.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut last = None;
        while !stop.is_cancelled() {
            let patience = self.round(&mut last).await;
            let pause = patience.unwrap_or_default().max(self.every);
            let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }

    /// Asks for each question once, beginning after the one that Slack did not want to hear any more of; says how long
    /// Slack wants to be left alone.
    async fn round(&self, last: &mut Option<Id>) -> Option<Duration> {
        let mut questions = match Question::all_open(&self.folder) {
            Ok(questions) => questions,
            Err(error) => {
                tracing::warn!(%error, "the open questions cannot be read");
                return None;
            }
        };
        questions.sort_by(|one, other| one.task_id.cmp(&other.task_id));
        let begin =
            questions.partition_point(|question| last.as_ref().is_some_and(|last| question.task_id <= *last));
        questions.rotate_left(begin);
        for question in questions {
            match self.ask(&question).await {
                Ok(()) => {}
                Err(SlackError::Limited(wait)) => return Some(wait),
                Err(SlackError::Refused(error)) => {
                    tracing::warn!(task = %question.task_id, %error, "replies cannot be read");
                }
            }
            *last = Some(question.task_id);
        }
        None
    }

    /// Reads what was said after a question, and makes it events.
    async fn ask(&self, question: &Question) -> Result<(), SlackError> {
        let mut cursor = String::new();
        for _ in 0..PAGES_MAX {
            let thread = Thread {
                channel: &question.channel_id,
                ts: &question.thread_ts,
                from: &question.asked_ts,
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
