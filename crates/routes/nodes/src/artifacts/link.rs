//! Links: URLs that open one file without a token, until they expire (N21). A signed URL carries its proof in path and
//! query (I7).

use super::Visit;
use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use muster_artifacts::{Proof, ProofError, StoragePath};
use muster_contract_nodes::ArtifactLink;
use muster_http::{HttpState, Operator, Params, PathText, Problem};
use muster_model::Millis;

/// A download that its caller is allowed to make, by an operator's token or by a link.
#[derive(Debug)]
pub(super) enum Download {
    /// An operator fetches the file.
    ByOperator(StoragePath),
    /// Someone with a link fetches the file.
    ByLink(StoragePath),
    /// An operator asks for a fresh link. A link cannot prolong itself.
    FreshLink(StoragePath),
}

impl FromRequestParts<HttpState> for Download {
    type Rejection = Problem;

    /// An operator's token opens every file, whatever the query says. Without one the link must be valid.
    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let operator = Operator::from_request_parts(parts, http).await;
        let visit = Visit::from_request_parts(parts, http).await?;
        let address = Address::from_request_parts(parts, http).await;
        match operator {
            Ok(_) => of_operator(&address?),
            // A query that cannot be read is no link.
            Err(refusal) => match address {
                Ok(address) if visit.may_be_link(&address) => visit.check_link(&address).map(Self::ByLink),
                _ => Err(refusal),
            },
        }
    }
}

impl Visit {
    /// Makes a link to a file; a plain URL where links are switched off.
    pub(super) fn link_to(&self, path: &StoragePath) -> Result<ArtifactLink, Problem> {
        let url = format!("{}/api/artifacts/{path}", self.http.public_base_url(&self.headers)?);
        if !self.has_links() {
            return Ok(ArtifactLink { public_url: url, expires_at: None });
        }
        let expires_at = (self.http.coordinator.now() + self.artifacts.0.settings.public_url_ttl).0;
        let signature = self.artifacts.0.link_signer.sign(path, expires_at);
        let public_url = format!("{url}?expires={expires_at}&signature={signature}");
        Ok(ArtifactLink { public_url, expires_at: Some(expires_at) })
    }

    fn has_links(&self) -> bool {
        self.artifacts.0.settings.public_url_ttl > Millis(0)
    }

    fn may_be_link(&self, Address { params, .. }: &Address) -> bool {
        let has_proof = ["expires", "signature"].iter().any(|name| params.opt_text(name).is_some());
        has_proof && params.opt_text("link").is_none() && self.has_links()
    }

    /// Checks the signature before anything else, so that a forger learns neither which files exist nor which links did.
    fn check_link(&self, Address { path, params }: &Address) -> Result<StoragePath, Problem> {
        let path = StoragePath::parse(&path.0).map_err(|_| forged())?;
        let proof = proof_of(params).ok_or_else(forged)?;
        let now = self.http.coordinator.now().0;
        match self.artifacts.0.link_signer.verify(&path, proof, now) {
            Ok(()) => Ok(path),
            Err(ProofError::Forged) => Err(forged()),
            Err(ProofError::Expired) => Err(expired(&path)),
        }
    }
}

fn of_operator(Address { path, params }: &Address) -> Result<Download, Problem> {
    let wants_link = params.opt_choice("link", &["true", "false"])? == Some("true");
    let path = StoragePath::parse(&path.0).map_err(|_| unknown())?;
    Ok(if wants_link { Download::FreshLink(path) } else { Download::ByOperator(path) })
}

fn proof_of(params: &Params) -> Option<Proof<'_>> {
    let expires_at = params.opt_text("expires")?.parse().ok()?;
    Some(Proof { expires_at, signature: params.opt_text("signature")? })
}

/// 404: the store has no such file.
pub(super) fn unknown() -> Problem {
    Problem::not_found("there is no such artifact")
}

fn forged() -> Problem {
    Problem::forbidden(
        "the signature of this link is wrong; copy the whole link, or get a fresh one with `muster artifact link PATH`",
    )
}

fn expired(path: &StoragePath) -> Problem {
    let detail = format!(
        "this link has expired; get a fresh one with `muster artifact link {path}`, or with an operator's token from \
         GET /api/artifacts/{path}?link=true"
    );
    Problem::new(StatusCode::GONE, "link-expired", "The link has expired", detail)
}

/// The path and query of a request.
pub(super) struct Address {
    pub(super) path: PathText,
    pub(super) params: Params,
}

impl FromRequestParts<HttpState> for Address {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let path = PathText::from_request_parts(parts, http).await?;
        let params = Params::from_request_parts(parts, http).await?;
        Ok(Self { path, params })
    }
}
