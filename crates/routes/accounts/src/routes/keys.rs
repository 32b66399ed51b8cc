//! API keys: make, list, take back (P13).

use super::{page, refuse, users};
use crate::wire::{ApiKey, ApiKeyList, NewApiKey, Shape};
use axum::{Json, extract::State, http::StatusCode};
use muster_http::{
    API_KEY_PREFIX, Client, HttpState, Identity, Params, PathText, Problem, api_key_hash, described, schema,
};
use muster_model::{
    Roles,
    ask::accounts::{AddKey, RevokeKey},
};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(add, list)).routes(routes!(revoke))
}

/// Makes an API key, shown this once.
#[utoipa::path(
    post, path = "/api-keys", operation_id = "add_api_key", tag = "accounts", security(("user" = [])),
    request_body = ApiKeyRequest,
    responses(
        (status = 201, description = "The key", body = NewApiKey),
        (status = 409, description = "The user has as many keys as one can have"),
    )
)]
async fn add(
    Client(user): Client,
    State(http): State<HttpState>,
    mut shape: Shape,
) -> Result<(StatusCode, Json<NewApiKey>), Problem> {
    let name = shape.must("name", |shape, field| shape.text(field, NAME_CHARS_MAX));
    let scopes = shape.roles("scopes");
    shape.finish()?;
    let scopes = scopes_for(&user, scopes)?;
    let key = format!("{API_KEY_PREFIX}{}", http.coordinator.new_secret());
    let request = AddKey {
        user: user.id,
        name: name.unwrap_or_default().into(),
        prefix: key.chars().take(PREFIX_CHARS).collect(),
        hash: api_key_hash(&key),
        scopes,
    };
    let record = http.ask(user.actor(), request).await.map_err(refuse)?;
    let ApiKey { id, name, prefix, scopes, created_at, .. } = ApiKey::from(&*record);
    Ok((StatusCode::CREATED, Json(NewApiKey { id, name, key, prefix, scopes, created_at })))
}

/// Lists the caller's own keys, those taken back included.
#[utoipa::path(
    get, path = "/api-keys", operation_id = "list_api_keys", tag = "accounts", security(("user" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Keys per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of keys", body = ApiKeyList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    Client(user): Client,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<ApiKeyList>, Problem> {
    let page = page(&params)?;
    let read = http.coordinator.read(move |store| store.api_keys(Some(user.id), &page)).await;
    let Page { items, next } = read.map_err(refuse)?;
    Ok(Json(ApiKeyList { api_keys: items.iter().map(ApiKey::from).collect(), next }))
}

/// Takes a key back; it stops working at once.
#[utoipa::path(
    delete, path = "/api-keys/{id}", operation_id = "revoke_api_key", tag = "accounts", security(("user" = [])),
    params(("id" = u64, Path, description = "The key")),
    responses(
        (status = 204, description = "The key is taken back"),
        (status = 404, description = "API key not found, or somebody else's"),
    )
)]
async fn revoke(
    Client(user): Client,
    State(http): State<HttpState>,
    id: PathText,
) -> Result<StatusCode, Problem> {
    let key = id.id("key").map_err(|_| Problem::not_found("API key not found"))?;
    http.ask(user.actor(), RevokeKey { key, user: Some(user.id) }).await.map_err(refuse)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The roles of a new key: never more than the caller may now, and a key's child no more than the key.
fn scopes_for(user: &Identity, asked: Option<Roles>) -> Result<Option<Roles>, Problem> {
    let scopes = asked.or_else(|| user.key.map(|_| user.roles));
    match scopes {
        Some(scopes) if !scopes.iter().all(|role| user.roles.allows(role)) => {
            Err(Problem::insufficient_role())
        }
        scopes => Ok(scopes),
    }
}

described! {
    /// Body that creates a key.
    struct ApiKeyRequest => {
        let name = schema::matching(".").max_length(Some(NAME_CHARS_MAX));
        schema::schema(
            schema::must(schema::object(), "name", name).property("scopes", users::roles_or_null()),
        )
    };
}

const NAME_CHARS_MAX: usize = 120;

/// `mk_` and six more: enough to tell keys apart, too few to help who guesses.
const PREFIX_CHARS: usize = API_KEY_PREFIX.len() + 6;
