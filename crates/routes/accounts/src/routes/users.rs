//! Users: add, list, change (P1).

use super::{Accounts, Visit, page, refuse};
use crate::{
    passwords::Password,
    wire::{Shape, USERNAME_CHARS_MAX, User, UserList},
};
use axum::{
    Extension, Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
};
use muster_http::{Admin, Anyone, HttpState, Identity, Params, PathText, Problem, described, schema};
use muster_model::{
    Ask, Role, Roles, UserChange, UserRecord,
    ask::accounts::{AddUser, ChangeUser},
};
use muster_store::Page;
use utoipa::openapi::{self, schema::ObjectBuilder};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(add, list)).routes(routes!(change))
}

/// Adds a user. Only an ADMIN can: nobody chooses their own roles.
#[utoipa::path(
    post, path = "/users", operation_id = "add_user", tag = "accounts", security(("user" = [])),
    request_body = NewUser,
    responses(
        (status = 201, description = "The user", body = User),
        (status = 409, description = "Username already exists"),
    )
)]
async fn add(
    admin: Admin,
    State(http): State<HttpState>,
    Extension(accounts): Extension<Accounts>,
    mut shape: Shape,
) -> Result<(StatusCode, Json<User>), Problem> {
    let name = shape.must("username", Shape::username);
    let password = shape.must("password", Shape::new_password);
    let roles = shape.must("roles", Shape::roles);
    shape.finish()?;
    let (Some(name), Some(password), Some(roles)) = (name, password, roles) else {
        return Err(Problem::internal(&"a user without name, password or roles was taken"));
    };
    // Looked at before the costly hash; who comes second in a race is refused by the engine all the same.
    if http.coordinator.accounts().user_named(&name).is_some() {
        return Err(Problem::conflict("Username already exists"));
    }
    let password_hash = accounts.passwords.hash(password).await?;
    let request = AddUser { name: name.into(), password_hash, roles };
    Ok((StatusCode::CREATED, ask(&http, &admin.0, request).await?))
}

/// Lists users, by id.
#[utoipa::path(
    get, path = "/users", operation_id = "list_users", tag = "accounts", security(("user" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Users per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of users", body = UserList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(_: Admin, State(http): State<HttpState>, params: Params) -> Result<Json<UserList>, Problem> {
    let page = page(&params)?;
    let Page { items, next } =
        http.coordinator.read(move |store| store.users(&page)).await.map_err(refuse)?;
    Ok(Json(UserList { users: items.iter().map(User::from).collect(), next }))
}

/// Changes a user. An ADMIN changes anything; anybody their own password, by giving the current one.
///
/// A new password, and being put out of service, end all logins of the user at once.
#[utoipa::path(
    patch, path = "/users/{name}", operation_id = "change_user", tag = "accounts", security(("user" = [])),
    params(("name" = String, Path, description = "The user's name")),
    request_body = UserPatch,
    responses(
        (status = 200, description = "The user as they are now", body = User),
        (status = 404, description = "User not found"),
        (status = 429, description = "Too many attempts with a wrong password"),
    )
)]
async fn change(
    AdminOrThemselves { caller, name }: AdminOrThemselves,
    visit: Visit,
    shape: Shape,
) -> Result<Json<User>, Problem> {
    let patch = Patch::read(shape, caller.roles.contains(Role::Admin))?;
    let user = visit.http.coordinator.look_up(|known| known.accounts().user_named(&name));
    let user = user.map_err(|_| Problem::busy("the server is starting"))?;
    let user = user.ok_or_else(|| Problem::not_found("User not found"))?;
    if let Some(current) = patch.current_password {
        let is_right = visit.is_right(&user.name, current, Some(&user.password_hash)).await?;
        if !is_right {
            return Err(Problem::forbidden("Incorrect password"));
        }
    }
    let password_hash = match patch.password {
        Some(password) => Some(visit.accounts.passwords.hash(password).await?),
        None => None,
    };
    let change = UserChange { password_hash, roles: patch.roles, active: patch.active };
    ask(&visit.http, &caller, ChangeUser { user: user.id, change }).await
}

/// Caller that may change the user named in the path: an admin or that user.
struct AdminOrThemselves {
    caller: Identity,
    name: String,
}

impl FromRequestParts<HttpState> for AdminOrThemselves {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let Anyone(caller) = Anyone::from_request_parts(parts, http).await?;
        let PathText(name) = PathText::from_request_parts(parts, http).await?;
        let may = caller.roles.contains(Role::Admin) || *caller.name == *name;
        if may { Ok(Self { caller, name }) } else { Err(Problem::insufficient_role()) }
    }
}

/// Changes to a user.
struct Patch {
    current_password: Option<Password>,
    password: Option<Password>,
    roles: Option<Roles>,
    active: Option<bool>,
}

impl Patch {
    /// Reads it. Who is no ADMIN may change their password only, and must know the current one.
    fn read(mut shape: Shape, is_admin: bool) -> Result<Self, Problem> {
        if !is_admin && (shape.has("roles") || shape.has("active")) {
            return Err(Problem::insufficient_role());
        }
        // An ADMIN need not know it, and may give it all the same.
        let current = |shape: &mut Shape, field: &str| shape.text(field, usize::MAX);
        let given = if is_admin {
            current(&mut shape, "current_password").and(None)
        } else {
            shape.must("current_password", current)
        };
        let current_password = given.map(Password::shown);
        if !is_admin && !shape.has("password") {
            shape.blame::<()>("password", "Field required");
        }
        let patch = Self {
            current_password,
            password: shape.new_password("password"),
            roles: shape.roles("roles"),
            active: shape.boolean("active"),
        };
        shape.finish()?;
        Ok(patch)
    }
}

async fn ask(
    http: &HttpState,
    caller: &Identity,
    request: impl Ask<Reply = Box<UserRecord>>,
) -> Result<Json<User>, Problem> {
    let user = http.ask(caller.actor(), request).await.map_err(refuse)?;
    Ok(Json(User::from(&*user)))
}

described! {
    /// Body that creates a user.
    struct NewUser => {
        // Readers differ in how much of \p they know; \w is letters, digits and _ for all.
        let name =
            schema::matching(r"^(?!(admin-token|[.][.]?)$)[\w.@+-]+$").max_length(Some(USERNAME_CHARS_MAX));
        let user = schema::must(schema::object(), "username", name);
        let user = schema::must(user, "password", password());
        schema::schema(user.property("roles", roles()).required("roles"))
    };

    /// Body that changes a user.
    struct UserPatch => {
        let or_null = |of: ObjectBuilder, kind| of.schema_type(schema::nullable(kind));
        let current = or_null(schema::matching("."), openapi::Type::String);
        let patch = schema::may(schema::object(), "current_password", current);
        let patch = schema::may(patch, "password", or_null(password(), openapi::Type::String));
        let patch = patch.property("roles", roles_or_null());
        schema::schema(schema::may(patch, "active", or_null(ObjectBuilder::new(), openapi::Type::Boolean)))
    };
}

fn password() -> ObjectBuilder {
    schema::matching(".").min_length(Some(8)).max_length(Some(1024))
}

fn roles() -> openapi::RefOr<openapi::Schema> {
    schema::list(role(), Role::ALL.len())
}

/// A list of roles, if any.
pub(super) fn roles_or_null() -> openapi::RefOr<openapi::Schema> {
    schema::list_or_null(role(), Role::ALL.len())
}

fn role() -> ObjectBuilder {
    schema::one_of(&Role::ALL.map(Role::as_str))
}
