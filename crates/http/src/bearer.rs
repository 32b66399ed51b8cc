//! Tokens: the secrets that the server holds, and whose token a request shows.

use crate::{HttpState, Identity, Node, Problem, Signer};
use axum::http::{HeaderMap, header};
use muster_coordinator::{Lead, TokenHash};
use muster_model::Name;
use sha2::{Digest, Sha256};

/// Owner of a valid token.
#[derive(Clone, Debug)]
pub(crate) enum Bearer {
    /// A user, or the holder of the admin token.
    User(Identity),
    /// A node, by the shared secret or its own.
    Node(Node),
    /// A caller that may enrol simulation workers (S1).
    Enroller,
    /// A simulation worker, by its token (S1).
    Renderer(Name),
}

impl Bearer {
    /// The refusal of a valid token that is for other routes.
    pub(crate) fn refused(&self, http: &str) -> Problem {
        let shown = match self {
            Self::User(_) => "a user's token",
            Self::Node(_) => "a node's secret",
            Self::Enroller => "the enrolment secret",
            Self::Renderer(_) => "a worker's token",
        };
        Problem::forbidden(format!("this is for {http}; {shown} does not open it"))
    }
}

/// Says whose a token is. What is found by a look into a table comes before what many are compared for: thousands of
/// workers call every second.
pub(crate) fn identify(http: &HttpState, token: Option<&str>) -> Result<Bearer, Problem> {
    let token = token.ok_or_else(Problem::unauthorized)?;
    let hash = TokenHash::of(token);
    let renderer = || http.coordinator.renderer_of(&hash).map(Bearer::Renderer);
    let node = || http.coordinator.knows_secret(None, &hash).then(|| Bearer::Node(Node::own(hash)));
    let user = || Identity::find(http, token).map(Bearer::User);
    // Users, and the secrets of single nodes and workers, are known only once the store is loaded; until then nobody can be
    // told no.
    let found =
        http.coordinator.look_up(|_| http.keys.judge(&hash).or_else(renderer).or_else(user).or_else(node));
    found.map_err(|_| nobody_known(&http.coordinator.lead()))?.ok_or_else(Problem::unauthorized)
}

/// The refusal while users and workers are not known. Most requests are passed on to the server that leads; the court's
/// and the metrics' are not.
fn nobody_known(lead: &Lead) -> Problem {
    match lead {
        Lead::There { .. } => Problem::not_leading(FOLLOWS),
        Lead::Here { .. } | Lead::Nowhere => Problem::busy("the server is starting"),
    }
}

/// The token in `Authorization: Bearer`.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, header::AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// PostgREST's clients send `apikey`, mostly beside a bearer token; where both are given the latter counts.
pub(crate) fn bearer_or_apikey(headers: &HeaderMap) -> Option<&str> {
    if headers.contains_key(header::AUTHORIZATION) { bearer(headers) } else { only(headers, "apikey") }
}

/// A simulation worker's token has a header of its own; where both are given that one counts (S1).
pub(crate) fn worker_token(headers: &HeaderMap) -> Option<&str> {
    if headers.contains_key(WORKER_TOKEN) { only(headers, WORKER_TOKEN) } else { bearer(headers) }
}

/// A token for a door that only `Authorization` opens; what stands in the workers' own header tells who was mistaken.
pub(crate) fn bearer_or_mistaken(headers: &HeaderMap) -> Option<&str> {
    if headers.contains_key(header::AUTHORIZATION) { bearer(headers) } else { only(headers, WORKER_TOKEN) }
}

/// The header's value, unless it stands there twice: which one a proxy before us looked at is unknown.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    (values.next().is_none() && !value.is_empty()).then_some(value)
}

/// The node secret, the admin token and the enrolment secret, of which only hashes are held, so that no dump or log can
/// show them; and what the tokens of logins are signed with.
pub struct Keys {
    node: [u8; 32],
    admin: [u8; 32],
    enrolment: Option<[u8; 32]>,
    signer: Signer,
}

impl Keys {
    /// Takes the shared node secret and the admin token. Tokens of logins are signed with a secret of this moment: they
    /// end with the process, unless [`Self::signing`] gives one that stays.
    #[must_use]
    pub fn new(node_secret: &str, admin_token: &str) -> Self {
        let signer = Signer::new(&rand::random::<[u8; 32]>());
        Self { node: hash(node_secret), admin: hash(admin_token), enrolment: None, signer }
    }

    /// Takes the secret with which simulation workers enrol too; without one nobody can (S1).
    #[must_use]
    pub fn enrolling(self, enrolment_secret: &str) -> Self {
        Self { enrolment: Some(hash(enrolment_secret)), ..self }
    }

    /// Takes the secret that tokens of logins are signed with (P1).
    #[must_use]
    pub fn signing(self, token_secret: &str) -> Self {
        Self { signer: Signer::new(token_secret.as_bytes()), ..self }
    }

    pub(crate) const fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Says whose token this is, if it is one of those.
    pub(crate) fn judge(&self, given: &TokenHash) -> Option<Bearer> {
        let (is_admin, is_node) = (given.is(&self.admin), given.is(&self.node));
        let enrols = self.enrolment.as_ref().is_some_and(|known| given.is(known));
        match (is_admin, is_node, enrols) {
            (true, ..) => Some(Bearer::User(Identity::admin())),
            (_, true, _) => Some(Bearer::Node(Node::shared())),
            (.., true) => Some(Bearer::Enroller),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(…)")
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The header in which simulation workers show their token.
const WORKER_TOKEN: &str = "x-worker-token";
const FOLLOWS: &str = "this server does not lead; only its admin token opens the court and the metrics here";

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::UserId;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    /// I7: who follows says that it knows no users, not that it is starting.
    #[test]
    fn who_follows_says_so() {
        let there = Lead::There { address: "http://10.0.0.7:7400".to_owned(), epoch: 8 };
        assert!(nobody_known(&there).detail().contains("does not lead"));
        assert_eq!(nobody_known(&Lead::Nowhere).detail(), "the server is starting");
    }

    /// I7, N3: a token is taken from one bearer header; a repeated one counts as none.
    #[test]
    fn a_token_is_given_once() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer abc")])), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "bearer abc")])), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "Basic abc")])), None);
        assert_eq!(bearer(&headers(&[("authorization", "abc")])), None);
        assert_eq!(bearer(&headers(&[("authorization", "Bearer a"), ("authorization", "Bearer a")])), None);
        assert_eq!(bearer(&headers(&[("apikey", "abc")])), None);
    }

    /// Q14: the RPCs take `apikey` too.
    #[test]
    fn the_rpcs_take_apikey() {
        assert_eq!(bearer_or_apikey(&headers(&[("apikey", "abc")])), Some("abc"));
        assert_eq!(
            bearer_or_apikey(&headers(&[("apikey", "abc"), ("authorization", "Bearer x")])),
            Some("x")
        );
        assert_eq!(bearer_or_apikey(&headers(&[("apikey", "a"), ("apikey", "a")])), None);
        assert_eq!(bearer_or_apikey(&headers(&[])), None);
    }

    /// S1: workers show their token in a header of their own, or as a bearer.
    #[test]
    fn workers_have_a_header_of_their_own() {
        assert_eq!(worker_token(&headers(&[("x-worker-token", "w")])), Some("w"));
        assert_eq!(worker_token(&headers(&[("authorization", "Bearer w")])), Some("w"));
        let both = headers(&[("authorization", "Bearer x"), ("x-worker-token", "w")]);
        assert_eq!((worker_token(&both), bearer_or_mistaken(&both)), (Some("w"), Some("x")));
        assert_eq!(worker_token(&headers(&[("x-worker-token", "w"), ("x-worker-token", "w")])), None);
        assert_eq!(worker_token(&headers(&[("apikey", "w")])), None);
    }

    /// N3, I7, S1: each secret opens its own door, anything else none.
    #[test]
    fn a_token_says_who_is_calling() {
        let keys = Keys::new("node-secret", "admin-token").enrolling("enrol-secret");
        assert!(
            matches!(keys.judge(&TokenHash::of("admin-token")), Some(Bearer::User(admin)) if admin.id == UserId(0))
        );
        assert!(matches!(keys.judge(&TokenHash::of("node-secret")), Some(Bearer::Node(_))));
        assert!(matches!(keys.judge(&TokenHash::of("enrol-secret")), Some(Bearer::Enroller)));
        assert!(Keys::new("node-secret", "admin-token").judge(&TokenHash::of("enrol-secret")).is_none());
        for wrong in ["", "node-secre", "node-secret ", "NODE-SECRET"] {
            assert!(keys.judge(&TokenHash::of(wrong)).is_none(), "{wrong:?}");
        }
    }

    /// I6: secrets do not show in what is printed for debugging.
    #[test]
    fn secrets_do_not_show() {
        let keys = Keys::new("node-secret", "admin-token").enrolling("enrol-secret");
        let shown = format!(
            "{keys:?} {:?} {:?}",
            keys.judge(&TokenHash::of("node-secret")),
            Bearer::Node(Node::own(TokenHash::of("own-secret")))
        );
        assert!(!shown.contains("secret") && !shown.contains("token"), "{shown}");
    }
}
