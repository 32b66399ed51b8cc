//! The HTTP layer: everything that a request passes before a contract's routes see it.
//!
//! A dialect hands over `pub fn routes() -> utoipa_axum::router::OpenApiRouter<HttpState>`. Its handlers take
//! [`HttpState`] as state; who may call them is said by what they extract ([`Node`], [`Operator`], [`Caller`]; [`Enroller`],
//! [`Renderer`], [`RendererOrOperator`]; on contract P's routes [`Client`], [`Owner`], [`Admin`], [`Anyone`]); bodies come as [`JsonBody`] and are read with [`Fields`]; whatever is refused is a [`Problem`].
//!
//! In `#[utoipa::path]` a handler names its security (`"node"`, `"operator"`, or `"node"`, `"operator"` and `"apikey"` as
//! alternatives; `"enrolment"`; `"user"` on contract P's routes; `"worker"` and `"worker_token"` as alternatives; `"signature"` where the address itself is the proof) and the responses that are its own. Those that the HTTP layer gives to any request (400, 401, 403, 413,
//! 415, 422, 500, 503) are added to every operation when the routers are put together.

mod access;
mod assemble;
mod bearer;
mod body;
mod caller;
mod events;
mod guard;
mod health;
mod identity;
mod jwt;
mod kept;
mod limit;
mod listen;
mod metrics;
mod middleware;
mod openapi;
mod params;
mod peer;
mod reason;
mod refusal;
mod state;

pub use access::{REQUEST_ID, request_id};
pub use assemble::{assemble, assemble_behind};
pub use bearer::{Keys, bearer};
pub use body::{BodyBytes, JsonBody, JsonBytes};
pub use caller::{
    Admin, Anyone, Caller, Client, Enroller, Node, Operator, Owner, Renderer, RendererOrOperator,
};
pub use events::{KEEP_ALIVE, Resume, Subscription, Told, event_of, gone_event};
pub use guard::{Vouched, check_names};
pub use health::{EPOCH, LEADER_PROOF, NOT_LEADING, Unready};
pub use identity::{ADMIN_NAME, API_KEY_PREFIX, Identity, api_key_hash};
pub use jwt::{Claims, Signer};
pub use kept::Kept;
pub use limit::{Deadline, Place};
pub use listen::{DRAIN_MAX, listen};
pub use metrics::{Encode, Gather, Metrics};
pub use middleware::{Around, Middleware, Next, layered};
pub use muster_problem::{
    Fields, Item, JsonTree, MEDIA_TYPE, Misfit, NAME_PATTERN, Problem, described, lists, read_json,
    read_tree, schema,
};
pub use params::{Params, PathText};
pub use peer::Peer;
pub use reason::REASON;
pub use refusal::{problem_of_refusal, problem_of_store};
pub use state::{HttpParts, HttpSettings, HttpState};
