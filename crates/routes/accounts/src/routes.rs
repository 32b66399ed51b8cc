//! The routes of accounts, one file per noun.

mod audit;
mod auth;
mod keys;
mod users;

use crate::{
    attempts::{Attempts, TooMany},
    passwords::{Password, Passwords},
};
use axum::{
    Extension,
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use muster_coordinator::Refusal;
use muster_http::{HttpState, Misfit, Params, Peer, Problem};
use muster_model::{AccountRejection, Millis, Rejection};
use muster_store::Cursor;
use prometheus_client::metrics::counter::Counter;
use std::{net::IpAddr, sync::Arc};
use utoipa_axum::router::OpenApiRouter;

/// The routes of accounts. What they count is shown by the HTTP layer.
#[must_use]
pub fn routes(http: &HttpState, settings: AccountSettings) -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .merge(auth::routes())
        .merge(users::routes())
        .merge(keys::routes())
        .merge(audit::routes())
        .layer(Extension(Accounts::new(http, settings)))
}

/// A request that shows a password: from where, and what it takes to judge it.
struct Visit {
    http: HttpState,
    accounts: Accounts,
    from: Option<IpAddr>,
}

impl FromRequestParts<HttpState> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let Ok(Peer(from)) = Peer::from_request_parts(parts, http).await;
        let accounts = Extension::<Accounts>::from_request_parts(parts, http).await;
        let Extension(accounts) = accounts.map_err(|missing| Problem::internal(&missing))?;
        Ok(Self { http: http.clone(), accounts, from })
    }
}

impl Visit {
    /// Says whether a password opens a hash, unless too many failed to lately (P1). `name` is whose it is said to be.
    async fn is_right(&self, name: &str, password: Password, hash: Option<&str>) -> Result<bool, Problem> {
        let attempt = self.accounts.attempts.begin(name, self.from).await.map_err(too_many)?;
        let is_right = self.accounts.passwords.is_right(password, hash).await;
        match is_right {
            Ok(false) => drop(attempt),
            // A correct password, or one that could not be checked, does not count.
            Ok(true) | Err(_) => attempt.forget(),
        }
        is_right
    }
}

/// 429 in contract P's words (P1).
fn too_many(TooMany { retry_after_s }: TooMany) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many requests", "Too many attempts")
        .retry_after(retry_after_s)
}

/// Puts the coordinator's refusal into contract P's words.
fn refuse(refusal: Refusal) -> Problem {
    muster_http::problem_of_refusal(refusal, |rejection| match rejection {
        Rejection::Accounts(rejection) => phrase(rejection),
        other => Problem::internal(&format_args!("a command about accounts was refused with {other:?}")),
    })
}

fn phrase(rejection: AccountRejection) -> Problem {
    match rejection {
        AccountRejection::NameTaken => Problem::conflict("Username already exists"),
        AccountRejection::UserUnknown => Problem::not_found("User not found"),
        AccountRejection::LoginUnknown => Problem::invalid_token(),
        AccountRejection::KeyUnknown => Problem::not_found("API key not found"),
        AccountRejection::TooMany { max } => {
            Problem::conflict(format!("One user can have at most {max} API keys; revoke one first"))
        }
    }
}

/// The page of a list that is asked for, refused in FastAPI's shape.
fn page(params: &Params) -> Result<Cursor, Problem> {
    page_of(params, &["after", "limit"])
}

/// As [`page`], of a list with filters of its own.
fn page_of(params: &Params, known: &[&str]) -> Result<Cursor, Problem> {
    let page = params.only(known).and_then(|()| params.cursor());
    page.map_err(|problem| match problem.field() {
        Some(field) if problem.status() == StatusCode::UNPROCESSABLE_ENTITY => {
            Problem::misfit(Misfit::new(vec!["query".into(), field.into()], problem.detail()))
        }
        _ => problem,
    })
}

/// Settings of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    /// Lifetime of a token that is not refreshed (`pool.token_ttl_s`).
    pub token_ttl: Millis,
}

/// State that the routes share. Cheap to clone.
#[derive(Clone)]
struct Accounts {
    settings: AccountSettings,
    passwords: Arc<Passwords>,
    attempts: Arc<Attempts>,
    /// Logins that were refused for a wrong name or password.
    failed_logins: Counter,
}

impl Accounts {
    /// Puts the parts together and has their counts shown at `/metrics`.
    fn new(http: &HttpState, settings: AccountSettings) -> Self {
        let (checks, failed_logins) = (Counter::default(), Counter::default());
        http.metrics.register(|registry| {
            registry.register("password_checks", "Passwords compared with a hash", checks.clone());
            registry.register("failed_logins", "Logins with a wrong name or password", failed_logins.clone());
        });
        let passwords = Arc::new(Passwords::new(checks));
        Self { settings, passwords, attempts: Arc::default(), failed_logins }
    }
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self { token_ttl: Millis::from_secs(900) }
    }
}
