//! Reads query parameters, and refuses wrong ones as FastAPI does.

use muster_contract_pool::limit;
use muster_http::{Misfit, Params, Problem};
use muster_model::{AssignmentId, PoolJobStatus};
use muster_store::Cursor;
use std::{ops::RangeInclusive, time::Duration};

/// The parameters of a request. Those that are not known are refused: a misspelt filter would show everything.
pub(super) struct Query<'p>(&'p Params);

/// A page of a list.
pub(super) struct PageQuery {
    /// The cursor of the page before.
    pub(super) after: Option<String>,
    /// The length of the page, if one is given.
    pub(super) limit: Option<u32>,
}

impl<'p> Query<'p> {
    pub(super) fn of(params: &'p Params, known: &[&str]) -> Result<Self, Problem> {
        let checked = params.only(known).map(|()| Self(params));
        checked
            .map_err(|problem| misfit(problem.field().unwrap_or_default(), "Extra inputs are not permitted"))
    }

    /// Time to wait.
    pub(super) fn wait(&self) -> Result<Duration, Problem> {
        let millis = self.integer("wait_ms", 0..=limit::WAIT_MS)?.unwrap_or_default();
        Ok(Duration::from_millis(millis.unsigned_abs()))
    }

    /// The page that is asked for.
    pub(super) fn page(&self) -> Result<PageQuery, Problem> {
        let limit = self.integer("limit", 1..=PAGE_MAX)?.and_then(|limit| u32::try_from(limit).ok());
        let after = self.0.opt_text("after").filter(|after| !after.is_empty());
        Ok(PageQuery { after: after.map(str::to_owned), limit })
    }

    /// A page of a list that is never shown as a whole.
    pub(super) fn cursor(&self) -> Result<Cursor, Problem> {
        let PageQuery { after, limit } = self.page()?;
        Ok(Cursor { after, limit: limit.unwrap_or(PAGE) })
    }

    pub(super) fn status(&self) -> Result<Option<PoolJobStatus>, Problem> {
        let Some(word) = self.0.opt_text("status") else { return Ok(None) };
        let status = PoolJobStatus::from_word(word);
        let msg = "Input should be 'queued', 'running', 'completed', 'failed' or 'cancelled'";
        status.map(Some).ok_or_else(|| misfit("status", msg))
    }

    pub(super) fn assignment(&self) -> Result<Option<AssignmentId>, Problem> {
        let id = self.integer("assignment_id", 0..=limit::ID)?;
        Ok(id.map(|id| AssignmentId(id.unsigned_abs())))
    }

    fn integer(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, Problem> {
        let Some(text) = self.0.opt_text(name) else { return Ok(None) };
        let unread = "Input should be a valid integer, unable to parse string as an integer";
        let number: i64 = text.parse().map_err(|_| misfit(name, unread))?;
        let (least, most) = (range.start(), range.end());
        let msg = match number {
            low if low < *least => format!("Input should be greater than or equal to {least}"),
            high if high > *most => format!("Input should be less than or equal to {most}"),
            fine => return Ok(Some(fine)),
        };
        Err(misfit(name, &msg))
    }
}

fn misfit(name: &str, msg: &str) -> Problem {
    Problem::misfit(Misfit::new(vec!["query".into(), name.into()], msg))
}

const PAGE: u32 = 100;
const PAGE_MAX: i64 = 1000;
