//! `muster device list|return`, `muster node list|drain|resume|secret`, and `muster worker
//! list|show|approve|quarantine|remove` (S6, S9, S11), of the pool `list --pool|ban|unban` (P14).

use super::client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun, given};
use crate::{
    client::Listing,
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

pub(crate) type Device = Noun<DeviceAction>;
pub(crate) type Node = Noun<NodeAction>;
pub(crate) type Worker = Noun<WorkerAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum DeviceAction {
    /// List devices
    List {
        /// Only ONLINE, OFFLINE or ERROR ones
        #[arg(long)]
        status: Option<String>,
        /// Only those of this PC
        #[arg(long)]
        pc: Option<String>,
        #[command(flatten)]
        limit: Limit<100_000>,
    },
    /// Return a device to service after its ERROR was dealt with
    Return {
        /// Which one
        id: String,
        /// Note on what was done about it
        #[arg(long)]
        note: Option<String>,
    },
}

impl Action for DeviceAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::List { status, pc, limit: Limit { limit } } => {
                let query = given([("status", status), ("pc_id", pc)]);
                let listing = Listing { path: &["api", "devices"], name: "devices", query, limit };
                talk.list(listing, &["device_id", "pc_id", "status", "runtime_handle", "labels"]).await
            }
            Self::Return { id, note } => {
                let path = ["api", "devices", &id, "return"];
                let answer = talk.client.post(&path, &json!({"note": note})).await?;
                Ok(talk.confirm(&answer, format_args!("{id} is back in service")))
            }
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeAction {
    /// List nodes with the counts of their devices
    List(Limit<100_000>),
    /// Give a node no more work; what it has it may finish
    Drain(IdAndReason),
    /// Give a drained node work again
    Resume(IdAndReason),
    /// Make a new secret for a node and print it; the old one works a while longer
    Secret(IdAndReason),
}

impl Action for NodeAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::List(Limit { limit }) => {
                let listing = Listing { path: &["api", "pcs"], name: "pcs", query: Vec::new(), limit };
                talk.list(listing, &NODE_COLUMNS).await
            }
            Self::Drain(node) => change_node(talk, &node, "drain").await,
            Self::Resume(node) => change_node(talk, &node, "resume").await,
            Self::Secret(IdAndReason { id, reason }) => {
                let answer = talk.client.order(&["api", "nodes", &id, "secret"], &reason).await?;
                match answer.get("secret").and_then(Value::as_str) {
                    Some(secret) if !talk.json => output::line(secret),
                    _ => output::document(&answer),
                }
                Ok(Exit::Fine)
            }
        }
    }
}

async fn change_node(talk: &Conversation, node: &IdAndReason, verb: &str) -> Result<Exit, Failure> {
    let IdAndReason { id, reason } = node;
    let answer = talk.client.order(&["api", "nodes", id, verb], reason).await?;
    Ok(talk.confirm(&answer, format_args!("{id}: {verb} done")))
}

const NODE_COLUMNS: [&str; 11] = [
    "pc_id",
    "pc_status",
    "heartbeat",
    "max_devices",
    "device_count",
    "running_count",
    "target",
    "idle_count",
    "error_count",
    "disconnected_count",
    "draining",
];

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerAction {
    /// List simulation workers, or those of the pool
    List {
        /// Those of the pool, whosever they are
        #[arg(long)]
        pool: bool,
        #[command(flatten)]
        limit: Limit<100_000>,
    },
    /// Show one worker and how its state changed
    Show(Id),
    /// Let a worker out of quarantine
    Approve {
        /// Which one
        id: String,
        /// Reason why it may work again
        #[arg(long)]
        reason: String,
    },
    /// Keep a worker away from work; what it holds goes to others
    Quarantine {
        /// Which one
        id: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Shut a worker of the pool out; what it holds goes to others
    Ban(PoolWorker),
    /// Let a worker of the pool in again, and forgive its dissents
    Unban(PoolWorker),
    /// Take a worker off the list; what it holds goes to others
    Remove(IdAndReason),
}

#[derive(Debug, Args)]
pub(crate) struct PoolWorker {
    /// Its number
    id: u64,
    /// Why
    #[arg(long)]
    reason: String,
}

impl Action for WorkerAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::List { pool, limit: Limit { limit } } => {
                let (path, columns): (&[&str], &[&str]) = match pool {
                    true => (&["api", "pool", "workers"], &POOL_COLUMNS),
                    false => (&SIMULATION, &SIMULATION_COLUMNS),
                };
                talk.list(Listing { path, name: "workers", query: Vec::new(), limit }, columns).await
            }
            Self::Show(Id { id }) => show_worker(talk, &id).await,
            Self::Approve { id, reason } => judge(talk, &SIMULATION, [&id, "approve"], &reason).await,
            Self::Quarantine { id, reason } => judge(talk, &SIMULATION, [&id, "quarantine"], &reason).await,
            Self::Ban(PoolWorker { id, reason }) => {
                judge(talk, &POOL, [&id.to_string(), "ban"], &reason).await
            }
            Self::Unban(PoolWorker { id, reason }) => {
                judge(talk, &POOL, [&id.to_string(), "unban"], &reason).await
            }
            Self::Remove(IdAndReason { id, reason }) => {
                let answer = talk.client.delete(&["api", "v1", "workers", &id], &reason).await?;
                Ok(talk.confirm(&answer, format_args!("{id}: remove done")))
            }
        }
    }
}

async fn show_worker(talk: &Conversation, id: &str) -> Result<Exit, Failure> {
    let mut worker = talk.client.get(&["api", "v1", "workers", id], &[]).await?;
    let members = worker.as_object_mut().filter(|_| !talk.json);
    let transitions = members.and_then(|members| members.remove("transitions"));
    talk.print(&worker);
    if let Some(Value::Array(transitions)) = transitions {
        output::table(&transitions, &["at", "from", "to", "cause"]);
    }
    Ok(Exit::Fine)
}

async fn judge(
    talk: &Conversation,
    route: &[&str],
    [id, verb]: [&str; 2],
    reason: &str,
) -> Result<Exit, Failure> {
    let answer = talk.client.post(&[route, &[id, verb]].concat(), &json!({ "reason": reason })).await?;
    Ok(talk.confirm(&answer, format_args!("{id}: {verb} done")))
}

const SIMULATION: [&str; 3] = ["api", "v1", "workers"];
const SIMULATION_COLUMNS: [&str; 6] =
    ["workerId", "state", "role", "lastHeartbeat", "currentTask", "capabilities"];
const POOL: [&str; 1] = ["workers"];
const POOL_COLUMNS: [&str; 8] =
    ["id", "name", "owner_user_id", "status", "region", "reputation", "dissents", "last_seen_at"];
