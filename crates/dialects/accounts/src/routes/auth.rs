//! Logins (P1).

use super::{refuse, unexpected};
use crate::{
    accounts::Accounts,
    attempts::{Attempt, TooMany},
    shape::Credentials,
    wire::{Me, Token, show_roles},
};
use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
};
use muster_door::{Anyone, Door, Peer, Problem, schema};
use muster_model::{AccountCommand, AccountReply, Command, LoginRecord, Reply, UserId};
use utoipa::{PartialSchema, ToSchema, openapi};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::default()
        .routes(routes!(login))
        .routes(routes!(refresh))
        .routes(routes!(logout))
        .routes(routes!(me))
}

/// Gives a token to whoever knows a name and its password.
///
/// OAuth2's password form; the same fields as JSON are taken too.
#[utoipa::path(
    post, path = "/auth/login", operation_id = "login", tag = "accounts",
    request_body(content(
        (LoginForm = "application/x-www-form-urlencoded"),
        (LoginForm = "application/json"),
    )),
    responses(
        (status = 200, description = "The token", body = Token),
        (status = 401, description = "Incorrect username or password"),
        (status = 429, description = "Too many attempts failed; Retry-After says when to come again"),
    )
)]
async fn login(
    State(door): State<Door>,
    Extension(accounts): Extension<Accounts>,
    Peer(peer): Peer,
    Credentials { username, password }: Credentials,
) -> Result<Json<Token>, Problem> {
    // Asked first, so that a user loaded meanwhile is not missed.
    let is_ready = door.coordinator.is_ready();
    let attempt = accounts.attempts.begin(&username, peer).await.map_err(too_many)?;
    let user = door.coordinator.accounts().user_named(&username);
    if user.is_none() && !is_ready {
        attempt.forget();
        return Err(Problem::busy("the server is starting"));
    }
    let is_right =
        accounts.passwords.is_right(password, user.as_ref().map(|user| &*user.password_hash)).await;
    let is_right = forgive(is_right, attempt)?;
    let Some(user) = user.filter(|user| is_right && user.active) else {
        accounts.failed_logins.inc();
        return Err(incorrect());
    };
    begin(&door, &accounts, user.id).await
}

/// Exchanges a token for the next; the one before ends at once.
#[utoipa::path(
    post, path = "/auth/refresh", operation_id = "refresh", tag = "accounts", security(("user" = [])),
    responses((status = 200, description = "The next token", body = Token))
)]
async fn refresh(
    State(door): State<Door>,
    Extension(accounts): Extension<Accounts>,
    Anyone(user): Anyone,
) -> Result<Json<Token>, Problem> {
    let LoginRecord { id: login, generation, .. } = user.login.ok_or_else(Problem::invalid_token)?;
    let ttl = accounts.settings.token_ttl;
    token(&door, &accounts, AccountCommand::Refresh { login, generation, ttl }).await
}

/// Ends a login; its token stops working at once.
#[utoipa::path(
    post, path = "/auth/logout", operation_id = "logout", tag = "accounts", security(("user" = [])),
    responses((status = 204, description = "The login has ended"))
)]
async fn logout(State(door): State<Door>, Anyone(user): Anyone) -> Result<StatusCode, Problem> {
    let login = user.login.ok_or_else(Problem::invalid_token)?.id;
    door.coordinator.ask(Command::Accounts(AccountCommand::Logout { login })).await.map_err(refuse)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says whose token this is.
#[utoipa::path(
    get, path = "/auth/me", operation_id = "me", tag = "accounts", security(("user" = [])),
    responses((status = 200, description = "The user, and what this token lets them do", body = Me))
)]
async fn me(Anyone(user): Anyone) -> Json<Me> {
    Json(Me { id: user.id.0, username: user.name.into(), roles: show_roles(user.roles) })
}

/// Ends an attempt: one that was right, or could not be judged, does not count (P1).
pub(super) fn forgive(is_right: Result<bool, Problem>, attempt: Attempt<'_>) -> Result<bool, Problem> {
    match is_right {
        Ok(false) => drop(attempt),
        Ok(true) | Err(_) => attempt.forget(),
    }
    is_right
}

/// 429 in contract P's words (P1).
pub(super) fn too_many(TooMany { retry_after_s }: TooMany) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many requests", "Too many attempts")
        .retry_after(retry_after_s)
}

/// One answer, whatever was wrong (P1).
fn incorrect() -> Problem {
    let detail = "Incorrect username or password";
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "The login failed", detail)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"muster\""))
}

async fn begin(door: &Door, accounts: &Accounts, user: UserId) -> Result<Json<Token>, Problem> {
    let begun = token(door, accounts, AccountCommand::Login { user, ttl: accounts.settings.token_ttl }).await;
    // Put out of service a moment ago: then this is the answer they would have got.
    begun.map_err(|problem| if problem.status() == StatusCode::NOT_FOUND { incorrect() } else { problem })
}

async fn token(door: &Door, accounts: &Accounts, command: AccountCommand) -> Result<Json<Token>, Problem> {
    match door.coordinator.ask(Command::Accounts(command)).await.map_err(refuse)? {
        Reply::Accounts(AccountReply::Login(login)) => Ok(Json(Token {
            access_token: door.token_of(&login),
            token_type: "bearer",
            expires_in: accounts.settings.token_ttl.0.div_euclid(1000),
        })),
        other => Err(unexpected(&other)),
    }
}

/// What a login takes.
struct LoginForm;

impl PartialSchema for LoginForm {
    fn schema() -> openapi::RefOr<openapi::Schema> {
        let form = schema::may(schema::object(), "grant_type", schema::one_of(&["password"]));
        let form = schema::must(form, "username", schema::matching("."));
        schema::schema(schema::must(form, "password", schema::matching(".")))
    }
}

impl ToSchema for LoginForm {}
