//! The fence that every commit passes in its own transaction (S18).

use crate::{pipeline::Step, session::Session, value::Argument};
use muster_tables::{Fault, Sql, Value};

/// The fence as a term last left it.
///
/// Every commit makes a new version of its row, and for as long as anybody reads an older state, as a backup does, none of
/// them can be cleared away. Whoever looks for the row by its key walks past all of them; whoever knows where the newest
/// stands does not. That a version is the newest and of this term is seen to all the same: what was replaced is not found
/// or is followed to what replaced it, and the epoch is compared with that of the version that is written anew.
pub(crate) struct Fence {
    epoch: i64,
    /// Where the newest version of its row stands, in PostgreSQL's words.
    place: String,
}

/// How the row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Where it was left; a table that was written anew has it elsewhere.
    Place,
    Id,
}

impl Fence {
    pub(crate) fn new(epoch: i64, place: String) -> Self {
        Self { epoch, place }
    }

    /// The step that passes it; it answers where the row stands then.
    pub(crate) fn step(&self, session: &Session, moment: i64, by: By) -> Result<Step, Fault> {
        let mut parameters = vec![Argument::Integer(self.epoch), Argument::Integer(moment)];
        let sql = match by {
            By::Place => {
                parameters.push(Argument::Text(self.place.as_str().into()));
                BY_PLACE
            }
            By::Id => BY_ID,
        };
        Ok(Step { statement: session.statement(sql)?, parameters })
    }

    /// Passes it as part of a transaction; answers where the row stands once that is committed.
    pub(crate) fn pass(&self, sql: &dyn Sql, moment: i64) -> Result<String, Fault> {
        let mut place = None;
        sql.each(BY_ID, &[self.epoch.into(), moment.into()], &mut |row| {
            if let Value::Text(text) = row.cell(0)? {
                place = Some(text.to_owned());
            }
            Ok(())
        })?;
        place.ok_or_else(missing)
    }

    /// Notes where the row stands after a commit.
    pub(crate) fn stands_at(&mut self, place: String) {
        self.place = place;
    }
}

/// The error for a table without its row.
pub(crate) fn missing() -> Fault {
    Fault::corrupt("fence: its row is missing")
}

/// Passes the fence. A term that is over breaks the constraint, and the transaction with it; so does the division, where
/// no row was found.
macro_rules! pass {
    ($found:literal) => {
        concat!(
            "WITH passed AS (UPDATE fence SET commits = commits + 1, held = (epoch = ?1), ",
            "now_ms = greatest(now_ms, ?2) WHERE ",
            $found,
            " RETURNING CAST(ctid AS TEXT) AS place) ",
            "SELECT (SELECT place FROM passed), 1 / (SELECT count(*) FROM passed)"
        )
    };
}

const BY_PLACE: &str = pass!("ctid = CAST(CAST(?3 AS TEXT) AS TID)");

const BY_ID: &str = pass!("id = 1");
