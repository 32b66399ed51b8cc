//! The routes of contract N: pull, callback, and the board for operators.

use crate::Board;
use axum::{
    Extension, Json,
    extract::{FromRequestParts, State},
    http::{Method, request::Parts},
    response::{IntoResponse, Response},
};
use muster_contract_nodes::{
    BatchedEvent, Callback, CallbackAnswer, Callbacks, CallbacksAnswer, LastHeartbeat, Message, NodeList,
    NodeMessage, NodeName, NodeState, PullAnswer, PullOrder, PullRequest, RunPayload, WHOLE_MAX,
    answer_callbacks, answer_pull, answer_report, claimed_node, order_one, phrase, read_callbacks, read_pull,
    read_report,
};
use muster_coordinator::Refusal;
use muster_http::{BodyBytes, HttpState, JsonBody, Node, Operator, Params, Place, Problem, read_tree};
use muster_model::{
    JobId, Name, PullReply, Recorded, ReportBatch, ReportId, WorkerMessage, WorkerRecord,
    ask::devices::Heartbeat,
};
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
        .routes(routes!(callbacks))
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

/// Takes several reports of nodes in one commit; each is judged as if it had come alone, in order.
#[utoipa::path(
    post, path = "/api/nodes/callbacks", operation_id = "callbacks", tag = "nodes", security(("node" = [])),
    request_body = Callbacks,
    responses((status = 200, description = "One result per event, in order", body = CallbacksAnswer))
)]
async fn callbacks(
    State(http): State<HttpState>,
    Extension(board): Extension<Board>,
    node: Node,
    BodyBytes(body): BodyBytes,
) -> Result<Json<CallbacksAnswer>, Problem> {
    let events = read_callbacks(&body, http.settings.body_limit_bytes)?;
    let check = |claimed: &Name| check_claim(&http, &node, Some(claimed));
    let events = events.into_iter().map(|event| BatchedEvent::read(event, check)).collect();
    take_all(&http, &board, events).await.map(Json)
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
    record(http, board, event).await.inspect_err(|problem| warn_of_conflict(Some(&id), problem))
}

async fn record(http: &HttpState, board: &Board, event: ReadEvent) -> Result<Recorded, Problem> {
    match event.message {
        NodeMessage::Report(report) => http.coordinator.ask(*report).await.map_err(refuse),
        NodeMessage::Heartbeat { worker, heartbeat } => {
            let heard_at = http.coordinator.now();
            http.coordinator.ask(Heartbeat { worker: worker.clone() }).await.map_err(refuse)?;
            Ok(remember(board, event.id, worker, LastHeartbeat { heard_at, heartbeat }))
        }
    }
}

/// Has the events of a batch recorded together. Those that cannot be read are answered beside the others.
async fn take_all(
    http: &HttpState,
    board: &Board,
    events: Vec<BatchedEvent>,
) -> Result<CallbacksAnswer, Problem> {
    let heard_at = http.coordinator.now();
    let (mut messages, mut waiting) = (Vec::with_capacity(events.len()), Vec::with_capacity(events.len()));
    for BatchedEvent { id, message } in events {
        let beat = match message {
            Ok(NodeMessage::Report(report)) => {
                messages.push(WorkerMessage::Report(report));
                Ok(None)
            }
            Ok(NodeMessage::Heartbeat { worker, heartbeat }) => {
                messages.push(WorkerMessage::Heartbeat { worker: worker.clone() });
                Ok(Some((worker, LastHeartbeat { heard_at, heartbeat })))
            }
            Err(problem) => Err(problem),
        };
        waiting.push((id, beat));
    }
    let recorded = match messages.is_empty() {
        true => Vec::new(),
        false => http.coordinator.ask(ReportBatch { messages }).await.map_err(refuse)?,
    };
    let mut recorded = recorded.into_iter();
    let results = waiting.into_iter().map(|(id, beat)| {
        let result = beat.and_then(|beat| {
            let result = recorded.next().unwrap_or(Ok(Recorded::Applied));
            let result = result.map_err(|rejection| refuse(Refusal::Rejected(rejection)))?;
            Ok(match (beat, &id) {
                (Some((worker, last)), Some(id)) => remember(board, id.clone(), worker, last),
                _ => result,
            })
        });
        (id.clone(), result.inspect_err(|problem| warn_of_conflict(id.as_ref(), problem)))
    });
    Ok(answer_callbacks(results))
}

/// Keeps a heartbeat in memory; says whether it is a repeat.
fn remember(board: &Board, id: ReportId, worker: Name, last: LastHeartbeat) -> Recorded {
    if board.remember(id, worker, last) { Recorded::Applied } else { Recorded::Duplicate }
}

/// Two events under one id, or a node that reports another's work: somebody should look (N5).
fn warn_of_conflict(id: Option<&ReportId>, problem: &Problem) {
    if problem.status() == 409 {
        let event_id = id.map(ReportId::as_str);
        warn!(event_id, detail = problem.detail(), "an event was refused");
    }
}

pub(crate) fn refuse(refusal: Refusal) -> Problem {
    muster_http::problem_of_refusal(refusal, |rejection| phrase(&rejection))
}
