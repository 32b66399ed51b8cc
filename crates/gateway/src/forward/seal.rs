//! Headers that one server adds to a request for another, and the proof that it was one of ours (S18).
//!
//! Anybody can write these headers. Without a proof they mean nothing but how often a request went round.

use crate::coordinators::Head;
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use muster_http::{Peer, REQUEST_ID, Vouched};
use sha2::Sha256;
use std::net::IpAddr;

/// Writes and checks proofs.
pub(super) struct Seal {
    requests: Hmac<Sha256>,
    /// Under a key of its own: whoever asks for proofs of one kind learns nothing of the other.
    servers: Hmac<Sha256>,
}

/// Known history of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claims {
    /// Number of times it was passed on, as its headers say.
    pub(super) hops: u8,
    /// True if a server of ours passed it on.
    pub(super) is_proven: bool,
}

impl Seal {
    pub(super) fn new(key: &[u8]) -> Self {
        let under = |key: &[u8]| Hmac::new_from_slice(key).expect("HMAC takes keys of any length");
        let requests: Hmac<Sha256> = under(key);
        let servers = under(&requests.clone().chain_update(SERVERS).finalize().into_bytes());
        Self { requests, servers }
    }

    /// Proves that this server is one of ours.
    pub(super) fn prove(&self, told: &[&str]) -> String {
        let parts = told.iter().map(|text| text.as_bytes());
        URL_SAFE_NO_PAD.encode(lines(&self.servers, parts).finalize().into_bytes())
    }

    /// True if the proof is valid.
    pub(super) fn is_ours(&self, proof: &[u8], told: &[&str]) -> bool {
        let parts = told.iter().map(|text| text.as_bytes());
        let proof = URL_SAFE_NO_PAD.decode(proof);
        // In constant time.
        proof.is_ok_and(|proof| lines(&self.servers, parts).verify_slice(&proof).is_ok())
    }

    /// Tells, and proves, from whom a request came and how often it was passed on.
    pub(super) fn close(&self, head: &mut Head, peer: Option<IpAddr>, hops: u8) {
        let peer = peer.map_or_else(String::new, |peer| peer.to_string());
        let proof = self.over(head, &[&hops.to_string(), &peer]).finalize().into_bytes();
        let proof = URL_SAFE_NO_PAD.encode(proof);
        for (name, text) in [(HOPS, hops.to_string()), (PEER, peer), (PROOF, proof)] {
            head.headers
                .insert(name, HeaderValue::try_from(text).expect("digits and letters fit in a header"));
        }
    }

    /// Takes what is told off a request. What is proven counts from here on: the address of its caller is the one told of.
    pub(super) fn open(&self, request: &mut Request) -> Claims {
        if !request.headers().keys().any(|name| name.as_str().starts_with(PREFIX)) {
            return Claims { hops: 0, is_proven: false };
        }
        let told = [HOPS, PEER, PROOF].map(|name| take(request.headers_mut(), name));
        let hops = told[0].as_ref().and_then(|hops| hops.parse().ok()).unwrap_or(0);
        let [Some(hops_text), Some(peer), Some(proof)] = told else {
            return Claims { hops, is_proven: false };
        };
        let is_proven = self.is_proof(request, &[&hops_text, &peer], &proof);
        if is_proven {
            let peer = peer.parse().map_or(Peer(None), Peer::at);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(Vouched);
        }
        Claims { hops, is_proven }
    }

    fn is_proof(&self, request: &Request, told: &[&str], proof: &str) -> bool {
        let path = request.uri().path_and_query().cloned();
        let (Ok(proof), Some(path)) = (URL_SAFE_NO_PAD.decode(proof), path) else {
            return false;
        };
        let head = Head { method: request.method().clone(), path, headers: request.headers().clone() };
        // In constant time.
        self.over(&head, told).verify_slice(&proof).is_ok()
    }

    /// A proof is good for one request: what it asks for, and the id under which every log has it.
    fn over(&self, head: &Head, told: &[&str]) -> Hmac<Sha256> {
        let id = head.headers.get(REQUEST_ID).map_or(&[][..], HeaderValue::as_bytes);
        let parts = [head.method.as_str().as_bytes(), head.path.as_str().as_bytes(), id];
        let parts = parts.into_iter().chain(told.iter().map(|text| text.as_bytes()));
        lines(&self.requests, parts)
    }
}

/// Takes parts in, none of which can hold the end of a line.
fn lines<'a>(mac: &Hmac<Sha256>, parts: impl Iterator<Item = &'a [u8]>) -> Hmac<Sha256> {
    parts.fold(mac.clone(), |mac, part| mac.chain_update(part).chain_update(b"\n"))
}

/// Removes a header; its value, if it stood there once and is text.
fn take(headers: &mut HeaderMap, name: &'static str) -> Option<String> {
    let is_alone = headers.get_all(name).iter().count() == 1;
    let value = headers.remove(name)?;
    value.to_str().ok().filter(|_| is_alone).map(str::to_owned)
}

/// Begins the names of all of these headers.
const PREFIX: &str = "muster-";

/// Number of times a request was passed on.
pub(crate) const HOPS: &str = "muster-hops";

/// The address it came from.
pub(crate) const PEER: &str = "muster-peer";

/// Proves both.
pub(crate) const PROOF: &str = "muster-peer-proof";

/// Begins as no request does.
const SERVERS: &[u8] = b"\nservers\n";

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{
        body::Body,
        http::{Method, uri::PathAndQuery},
    };

    fn sealed(key: &str) -> Head {
        let headers = [(REQUEST_ID, HeaderValue::from_static("r1"))].into_iter().collect();
        let path = PathAndQuery::from_static("/jobs?x=1");
        let mut head = Head { method: Method::POST, path, headers };
        Seal::new(key.as_bytes()).close(&mut head, Some("192.0.2.7".parse().unwrap()), 1);
        head
    }

    fn arrives(head: Head) -> (Request, Claims) {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = head.method;
        *request.uri_mut() = head.path.into();
        *request.headers_mut() = head.headers;
        request.extensions_mut().insert(Peer::at("10.0.0.1".parse().unwrap()));
        let claims = Seal::new(b"ours").open(&mut request);
        (request, claims)
    }

    fn caller(request: &Request) -> String {
        request.extensions().get::<Peer>().unwrap().0.unwrap().to_string()
    }

    /// S18: the caller that another server of ours tells of is the one who counts; what was told is taken off.
    #[test]
    fn a_proven_caller_counts() {
        let (request, claims) = arrives(sealed("ours"));
        assert_eq!(claims, Claims { hops: 1, is_proven: true });
        assert_eq!(caller(&request), "192.0.2.7");
        assert!(request.extensions().get::<Vouched>().is_some());
        assert!([HOPS, PEER, PROOF].iter().all(|name| !request.headers().contains_key(*name)));
    }

    /// S18: a server's proof is good for one question, one address and one installation, and for no request.
    #[test]
    fn a_server_is_believed_by_its_proof_alone() {
        let (ours, theirs) = (Seal::new(b"ours"), Seal::new(b"theirs"));
        let told = ["nonce", "7", "http://a:1"];
        let proof = ours.prove(&told);
        assert!(ours.is_ours(proof.as_bytes(), &told));
        assert!(!theirs.is_ours(proof.as_bytes(), &told));
        for other in
            [["other", "7", "http://a:1"], ["nonce", "8", "http://a:1"], ["nonce", "7", "http://b:1"]]
        {
            assert!(!ours.is_ours(proof.as_bytes(), &other), "{other:?}");
        }
        for wrong in [&b""[..], b"AAAA", b"nonce", &proof.as_bytes()[1..]] {
            assert!(!ours.is_ours(wrong, &told));
        }
        let request = lines(&ours.requests, told.iter().map(|text| text.as_bytes())).finalize().into_bytes();
        assert!(!ours.is_ours(URL_SAFE_NO_PAD.encode(request).as_bytes(), &told));
    }

    /// S18: nothing is believed that is not proven: another key, another request, another caller, headers twice.
    #[test]
    fn what_is_not_proven_is_not_believed() {
        let change = |name: &'static str, value: &str| {
            let mut head = sealed("ours");
            head.headers.insert(name, value.parse().unwrap());
            head
        };
        let again = |name: &'static str| {
            let mut head = sealed("ours");
            let value = head.headers[name].clone();
            head.headers.append(name, value);
            head
        };
        let heads = [
            sealed("theirs"),
            sealed(""),
            change(PEER, "192.0.2.8"),
            change(PEER, ""),
            change(HOPS, "2"),
            change(PROOF, ""),
            change(PROOF, "AAAA"),
            change("x-request-id", "r2"),
            again(PEER),
            again(PROOF),
            Head { method: Method::GET, ..sealed("ours") },
            Head { path: PathAndQuery::from_static("/jobs?x=2"), ..sealed("ours") },
        ];
        for (number, head) in heads.into_iter().enumerate() {
            let (request, claims) = arrives(head);
            assert!(!claims.is_proven, "{number}");
            assert_eq!(caller(&request), "10.0.0.1", "{number}");
            assert!(request.extensions().get::<Vouched>().is_none(), "{number}");
            assert!(!request.headers().contains_key(PEER), "{number}");
        }
    }
}
