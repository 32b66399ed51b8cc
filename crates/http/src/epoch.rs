//! What servers that share a store tell each other, and everybody (S18, S19).

use axum::http::HeaderName;

/// The header by which every answer tells the number of the leader's term.
pub const EPOCH: HeaderName = HeaderName::from_static("muster-epoch");

/// The header that marks a 503: nothing was done, because the server does not lead and found nobody who does.
pub const NOT_LEADING: HeaderName = HeaderName::from_static("muster-not-leading");

/// Where a server proves to others that it is one of theirs.
pub const LEADER_PROOF: &str = "/leader-proof";

/// Marks a question whether this server is ready: it is not, for this reason, though it knows who leads.
#[derive(Clone, Debug)]
pub struct Unready(pub String);
