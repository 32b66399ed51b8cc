//! Logins (P1).

use super::{Accounts, Visit, refuse};
use crate::wire::{Credentials, Me, Token, show_roles};
use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
};
use muster_http::{Anyone, HttpState, Problem, described, schema};
use muster_model::{
    Actor, LoginRecord, Role, Roles, UserRecord,
    ask::accounts::{Login, Logout, Refresh},
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
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
    visit: Visit,
    Credentials { username, password }: Credentials,
) -> Result<Json<Token>, Problem> {
    let Visit { http, accounts, .. } = &visit;
    let user = http.coordinator.look_up(|known| known.accounts().user_named(&username));
    let user = user.map_err(|_| Problem::busy("the server is starting"))?;
    // A user that there is not takes as long as one that there is.
    let hash = user.as_ref().map(|user| &*user.password_hash);
    let is_right = visit.is_right(&username, password, hash).await?;
    let Some(user) = user.filter(|user| is_right && user.active) else {
        accounts.failed_logins.inc();
        return Err(incorrect());
    };
    begin(http, accounts, &user).await
}

/// Exchanges a token for the next; the one before ends at once.
#[utoipa::path(
    post, path = "/auth/refresh", operation_id = "refresh", tag = "accounts", security(("user" = [])),
    responses((status = 200, description = "The next token", body = Token))
)]
async fn refresh(
    State(http): State<HttpState>,
    Extension(accounts): Extension<Accounts>,
    Anyone(user): Anyone,
) -> Result<Json<Token>, Problem> {
    let LoginRecord { id: login, generation, .. } = user.login.ok_or_else(Problem::invalid_token)?;
    let ttl = accounts.settings.token_ttl;
    let refreshed = http.coordinator.ask(Refresh { login, generation, ttl }).await.map_err(refuse)?;
    Ok(token(&http, &accounts, &refreshed))
}

/// Ends a login; its token stops working at once.
#[utoipa::path(
    post, path = "/auth/logout", operation_id = "logout", tag = "accounts", security(("user" = [])),
    responses((status = 204, description = "The login has ended"))
)]
async fn logout(State(http): State<HttpState>, Anyone(user): Anyone) -> Result<StatusCode, Problem> {
    let login = user.login.ok_or_else(Problem::invalid_token)?.id;
    let actor = accountable(user.roles, user.actor());
    http.ask(actor, Logout { login }).await.map_err(refuse)?;
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

/// One answer, whatever was wrong (P1).
fn incorrect() -> Problem {
    let detail = "Incorrect username or password";
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "The login failed", detail)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"muster\""))
}

async fn begin(http: &HttpState, accounts: &Accounts, user: &UserRecord) -> Result<Json<Token>, Problem> {
    let actor = Actor { user: user.id, name: user.name.clone(), reason: None };
    let actor = accountable(user.roles, actor);
    let (password_hash, ttl) = (user.password_hash.clone(), accounts.settings.token_ttl);
    let begun = http.ask(actor, Login { user: user.id, password_hash, ttl }).await.map_err(refuse);
    // Put out of service a moment ago: then this is the answer they would have got.
    let begun = begun.map_err(|problem| match problem.status() {
        StatusCode::NOT_FOUND => incorrect(),
        _ => problem,
    });
    Ok(token(http, accounts, &begun?))
}

/// Logins of those who run the place stand in the audit log; those of clients and workers' owners come by the thousand.
fn accountable(roles: Roles, actor: Actor) -> Option<Actor> {
    roles.allows(Role::Viewer).then_some(actor)
}

fn token(http: &HttpState, accounts: &Accounts, login: &LoginRecord) -> Json<Token> {
    Json(Token {
        access_token: http.token_of(login),
        token_type: "bearer".into(),
        expires_in: accounts.settings.token_ttl.0.div_euclid(1000),
    })
}

described! {
    /// Body of a login.
    struct LoginForm => {
        let form = schema::may(schema::object(), "grant_type", schema::one_of(&["password"]));
        let form = schema::must(form, "username", schema::matching("."));
        schema::schema(schema::must(form, "password", schema::matching(".")))
    };
}
