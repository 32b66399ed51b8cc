//! `muster chunk list|retire` (S13, S17, S20b).

use super::{converse, watch::print_members};
use crate::{
    client::{Client, Listing},
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

#[derive(Debug, Args)]
pub(crate) struct Chunk {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List chunks of ids by number: the task, worker and attempt that each was given to
    List {
        /// Only chunks of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Only chunks in this state
        #[arg(long, value_enum)]
        state: Option<State>,
        /// At most so many
        #[arg(long, default_value_t = 1_000)]
        limit: usize,
    },
    /// Retire a chunk: its ids are never used again, and its frames are rendered again with a new chunk
    Retire {
        /// The chunk's number, as `muster chunk list` shows it
        id: u64,
        /// Why; shown in the session's diagnostics
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// The state of a chunk (S13).
#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    /// Given to an attempt that has not ended
    Live,
    /// Its fragment was accepted
    Used,
    /// Never used again
    Retired,
}

impl State {
    /// On the wire.
    const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Used => "used",
            Self::Retired => "retired",
        }
    }
}

impl Chunk {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        let json = reach.json;
        converse(&reach, async |client| {
            match action {
                Action::List { session, state, limit } => {
                    let state = state.map(|state| ("state", state.word().to_owned()));
                    let session = session.map(|session| ("session", session));
                    let query = state.into_iter().chain(session).collect();
                    list(client, Listing { path: &CHUNKS, name: "chunks", query, limit }, json).await?;
                }
                Action::Retire { id, reason } => retire(client, id, &reason, json).await?,
            }
            Ok(Exit::Fine)
        })
    }
}

async fn list(client: &Client, listing: Listing<'_>, json: bool) -> Result<(), Failure> {
    let columns = ["chunkId", "state", "range", "sessionId", "taskId", "attempt", "workerId", "at", "reason"];
    output::listing(&client.list(listing).await?, "chunks", &columns, json);
    Ok(())
}

async fn retire(client: &Client, id: u64, reason: &str, json: bool) -> Result<(), Failure> {
    let [api, version, chunks] = CHUNKS;
    let path = [api, version, chunks, &id.to_string(), "retire"];
    print_members(&client.post(&path, &json!({ "reason": reason })).await?, json);
    Ok(())
}

const CHUNKS: [&str; 3] = ["api", "v1", "chunks"];
