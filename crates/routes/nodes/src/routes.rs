//! The routes of contract N: pull, callback, and the board for operators.

use crate::Board;
use axum::{
    Extension, Json,
    extract::{FromRequestParts, State},
    http::{Method, request::Parts},
    response::{IntoResponse, Response},
};
use muster_contract_nodes::{
    Callback, CallbackAnswer, LastHeartbeat, Message, NodeList, NodeMessage, NodeName, NodeState, PullAnswer,
    PullOrder, PullRequest, RunPayload, WHOLE_MAX, answer_pull, answer_report, claimed_node, order_one,
    phrase, read_pull, read_report,
};
use muster_coordinator::Refusal;
use muster_http::{BodyBytes, HttpState, JsonBody, Node, Operator, Params, Place, Problem, read_tree};
use muster_model::{JobId, Name, PullReply, Recorded, ReportId, WorkerRecord, ask::devices::Heartbeat};
use muster_store::Reader;
use std::collections::{BTreeMap, BTreeSet};
use tracing::warn;
use utoipa_axum::{router::OpenApiRouter, routes};

/// The routes of contract N, with a board of their own.
#[must_use]
pub fn routes() -> OpenApiRouter<HttpState> {
    routes_with(Board::default())
}

/// The routes of contract N, with a board that others may look at too.
#[must_use]
pub fn routes_with(board: Board) -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(pull, pull_one))
        .routes(routes!(callback))
        .routes(routes!(nodes))
        .layer(Extension(board))
}

/// Hands a node its work.
#[utoipa::path(
    post, path = "/api/nodes/pull", operation_id = "pull", tag = "nodes", security(("node" = [])),
    request_body = PullRequest<'static>,
    responses((status = 200, description = "Work for the node, and what it must stop", body = PullAnswer<'static>))
)]
async fn pull(
    State(http): State<HttpState>,
    place: Place,
    node: Node,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    check_claim(&http, &node, claimed_node(&body).as_ref())?;
    serve(&http, read_pull(&body)?, place).await
}

/// Hands a node one job.
#[utoipa::path(
    get, path = "/api/nodes/pull", operation_id = "pull_one", tag = "nodes", security(("node" = [])),
    params(
        ("node_id" = inline(NodeName), Query, description = "Who asks"),
        ("wait_ms" = Option<u64>, Query, description = "How long to wait for work; at most 30000 count",
            minimum = 0, maximum = 9_007_199_254_740_991_i64),
    ),
    responses(
        (status = 200, description = "At most one job, and what the node must stop", body = PullAnswer<'static>),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn pull_one(
    method: Method,
    State(http): State<HttpState>,
    place: Place,
    SingleJob { node, params }: SingleJob,
) -> Result<Response, Problem> {
    if method == Method::HEAD {
        // Its answer would be thrown away, and the job in it with it.
        return Err(Problem::method_not_allowed("HEAD"));
    }
    let worker = params.name("node_id")?;
    check_claim(&http, &node, Some(&worker))?;
    serve(&http, order_one(worker, params.opt_integer_in("wait_ms", 0..=WHOLE_MAX)?), place).await
}

/// Takes a node's report; a repeat of the same `event_id` changes nothing.
#[utoipa::path(
    post, path = "/api/nodes/callback", operation_id = "callback", tag = "nodes", security(("node" = [])),
    request_body = Callback,
    responses(
        (status = 200, description = "The event is kept", body = CallbackAnswer),
        (status = 404, description = "No such run, task or device"),
        (status = 409, description = "The id belongs to another event, or the task to another node"),
    )
)]
async fn callback(
    State(http): State<HttpState>,
    Extension(board): Extension<Board>,
    node: Node,
    BodyBytes(body): BodyBytes,
) -> Result<Json<CallbackAnswer>, Problem> {
    let event = read_event(&http, &node, &body)?;
    drop(body);
    take(&http, &board, event).await.map(|recorded| Json(answer_report(recorded)))
}

/// Lists every known node: whether it is online, and what its last heartbeat said.
#[utoipa::path(
    get, path = "/api/nodes", operation_id = "nodes", tag = "nodes", security(("operator" = [])),
    responses(
        (status = 200, description = "The nodes, by name", body = NodeList),
        (status = 422, description = "There are no parameters"),
    )
)]
async fn nodes(
    State(http): State<HttpState>,
    Extension(board): Extension<Board>,
    _: Operator,
    params: Params,
) -> Result<Json<NodeList>, Problem> {
    params.only(&[])?;
    let records =
        http.coordinator.read(|reader: &dyn Reader| reader.worker_records()).await.map_err(refuse)?;
    let state = |record: &WorkerRecord| NodeState::new(record, board.heartbeat(&record.id));
    Ok(Json(NodeList { nodes: records.iter().map(state).collect() }))
}

/// A node's own secret grants access for that node only; for any other it is a wrong one (N3).
pub(crate) fn check_claim(http: &HttpState, node: &Node, claimed: Option<&Name>) -> Result<(), Problem> {
    let Some(claimed) = claimed else { return Ok(()) };
    node.speaks_for(http, claimed).map_err(|_| Problem::unauthorized())
}

/// The sender and the query of `GET /api/nodes/pull`.
struct SingleJob {
    node: Node,
    params: Params,
}

impl FromRequestParts<HttpState> for SingleJob {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let node = Node::from_request_parts(parts, http).await?;
        let params = Params::from_request_parts(parts, http).await?;
        Ok(Self { node, params })
    }
}

async fn serve(http: &HttpState, order: PullOrder, place: Place) -> Result<Response, Problem> {
    place.wait_apart(order.wait)?;
    let reply = http.coordinator.pull(order.pull, order.wait).await.map_err(refuse)?;
    let runs = runs_of(http, &reply).await?;
    Ok(Json(answer_pull(&reply, &runs, http.coordinator.now())).into_response())
}

async fn runs_of(http: &HttpState, reply: &PullReply) -> Result<BTreeMap<JobId, RunPayload>, Problem> {
    let announced = reply.announced.iter().map(|job| job.job);
    let handed = reply.handouts.iter().map(|handout| handout.task.job);
    let mut runs = BTreeMap::new();
    for job in announced.chain(handed).collect::<BTreeSet<_>>() {
        let payload = http.coordinator.payload(job).await.map_err(refuse)?;
        let run = RunPayload::new(payload, http.coordinator.settings().attempt_timeout);
        runs.insert(job, run.map_err(|error| Problem::internal(&error))?);
    }
    Ok(runs)
}

/// An event that was read.
struct ReadEvent {
    id: ReportId,
    message: NodeMessage,
}

fn read_event(http: &HttpState, node: &Node, body: &[u8]) -> Result<ReadEvent, Problem> {
    let body = read_tree(body, http.settings.body_limit_bytes)?;
    check_claim(http, node, claimed_node(&body).as_ref())?;
    let message = Message::read(body)?;
    Ok(ReadEvent { message: read_report(&message)?, id: message.id })
}

async fn take(http: &HttpState, board: &Board, event: ReadEvent) -> Result<Recorded, Problem> {
    let id = event.id.clone();
    record(http, board, event).await.inspect_err(|problem| {
        if problem.status() == 409 {
            // Two events under one id, or a node that reports another's work: somebody should look (N5).
            warn!(event_id = id.as_str(), detail = problem.detail(), "an event was refused");
        }
    })
}

async fn record(http: &HttpState, board: &Board, event: ReadEvent) -> Result<Recorded, Problem> {
    match event.message {
        NodeMessage::Report(report) => http.coordinator.ask(*report).await.map_err(refuse),
        NodeMessage::Heartbeat { worker, heartbeat } => {
            let heard_at = http.coordinator.now();
            http.coordinator.ask(Heartbeat { worker: worker.clone() }).await.map_err(refuse)?;
            let is_new = board.remember(event.id, worker, LastHeartbeat { heard_at, heartbeat });
            Ok(if is_new { Recorded::Applied } else { Recorded::Duplicate })
        }
    }
}

pub(crate) fn refuse(refusal: Refusal) -> Problem {
    muster_http::problem_of_refusal(refusal, |rejection| phrase(&rejection))
}
