//! The doors of accounts, one file per noun.

mod audit;
mod auth;
mod keys;
mod users;

use crate::accounts::{AccountSettings, Accounts};
use axum::{Extension, http::StatusCode};
use muster_coordinator::Refusal;
use muster_door::{Door, Misfit, Params, Problem};
use muster_model::{AccountRejection, Rejection, Reply};
use muster_store::Cursor;
use utoipa_axum::router::OpenApiRouter;

/// The routes of accounts. What they count is shown by the door.
#[must_use]
pub fn routes(door: &Door, settings: AccountSettings) -> OpenApiRouter<Door> {
    OpenApiRouter::default()
        .merge(auth::routes())
        .merge(users::routes())
        .merge(keys::routes())
        .merge(audit::routes())
        .layer(Extension(Accounts::new(door, settings)))
}

/// Puts the coordinator's refusal into contract P's words.
fn refuse(refusal: Refusal) -> Problem {
    Problem::of_refusal(refusal, |rejection| match rejection {
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

/// A reply of another kind than the command calls for: a broken promise of the engine.
fn unexpected(reply: &Reply) -> Problem {
    Problem::internal(&format_args!("a command was answered with {reply:?}"))
}

/// Which page of a list, refused in FastAPI's shape.
fn page(params: &Params) -> Result<Cursor, Problem> {
    let page = params.only(&["after", "limit"]).and_then(|()| params.cursor());
    page.map_err(|problem| match problem.field() {
        Some(field) if problem.status() == StatusCode::UNPROCESSABLE_ENTITY => {
            Problem::misfit(Misfit::new(vec!["query".into(), field.into()], problem.detail()))
        }
        _ => problem,
    })
}
