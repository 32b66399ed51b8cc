//! `muster device list|return`, `muster node list|drain|resume|secret`, and `muster worker
//! list|show|approve|quarantine|remove` (S6, S9, S11), of the pool `list --pool|ban|unban` (P14).

use super::client_command::{Action, Conversation, Id, IdAndReason, Limit, Noun, given};
use crate::{
    client::{Answer, Listing, Order},
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand};
use muster_contract_operations::{DeviceReturn, NewSecret};
use muster_contract_pool as pool;
use muster_contract_simulation as simulation;
use serde::Serialize;
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
                let answer: Value = talk.client.post(&path, &DeviceReturn { note }).await?;
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
                let answer: Answer<NewSecret> = talk
                    .client
                    .order(&["api", "nodes", &id, "secret"], &json!({}), Order::because(&reason))
                    .await?;
                match talk.json {
                    true => output::document(&answer.raw),
                    false => output::line(&answer.read.secret),
                }
                Ok(Exit::Fine)
            }
        }
    }
}

async fn change_node(talk: &Conversation, node: &IdAndReason, verb: &str) -> Result<Exit, Failure> {
    let IdAndReason { id, reason } = node;
    let path = ["api", "nodes", id, verb];
    let answer: Value = talk.client.order(&path, &json!({}), Order::because(reason)).await?;
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

impl PoolWorker {
    async fn judge(self, talk: &Conversation, verb: &str) -> Result<Exit, Failure> {
        let body = pool::ReasonRequest { reason: self.reason.into() };
        judge(talk, &["workers"], [&self.id.to_string(), verb], &body).await
    }
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
            Self::Approve { id, reason } => {
                judge(talk, &SIMULATION, [&id, "approve"], &simulation::ReasonRequest { reason }).await
            }
            Self::Quarantine { id, reason } => {
                judge(talk, &SIMULATION, [&id, "quarantine"], &simulation::ReasonRequest { reason }).await
            }
            Self::Ban(worker) => worker.judge(talk, "ban").await,
            Self::Unban(worker) => worker.judge(talk, "unban").await,
            Self::Remove(IdAndReason { id, reason }) => {
                let answer = talk.client.delete(&["api", "v1", "workers", &id], &reason).await?;
                Ok(talk.confirm(&answer, format_args!("{id}: remove done")))
            }
        }
    }
}

async fn show_worker(talk: &Conversation, id: &str) -> Result<Exit, Failure> {
    let mut worker: Value = talk.client.get(&["api", "v1", "workers", id], &[]).await?;
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
    body: &impl Serialize,
) -> Result<Exit, Failure> {
    let answer: Value = talk.client.post(&[route, &[id, verb]].concat(), body).await?;
    Ok(talk.confirm(&answer, format_args!("{id}: {verb} done")))
}

const SIMULATION: [&str; 3] = ["api", "v1", "workers"];
const SIMULATION_COLUMNS: [&str; 6] =
    ["workerId", "state", "role", "lastHeartbeat", "currentTask", "capabilities"];
const POOL_COLUMNS: [&str; 8] =
    ["id", "name", "owner_user_id", "status", "region", "reputation", "dissents", "last_seen_at"];
