//! The words of accounts, as JSON and as OpenAPI schemas.

use crate::passwords::Password;
use axum::{
    Form,
    extract::{DefaultBodyLimit, FromRequest, Request, rejection::FormRejection},
    http::{StatusCode, header},
};
use muster_http::{ADMIN_NAME, BodyBytes, HttpState, Misfit, Problem, lists, read_json};
use muster_model::{ApiKeyRecord, AuditRecord, Role, Roles, Timestamp, UserRecord};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use utoipa::ToSchema;

/// Response to a login (P1).
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// A JSON Web Token, to be shown as a bearer token.
    pub access_token: String,
    /// Always `bearer`.
    pub token_type: Cow<'static, str>,
    /// Lifetime in seconds unless it is refreshed.
    pub expires_in: i64,
}

/// Whoever a token belongs to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// The user; 0 is the holder of the admin token.
    pub id: u64,
    /// Their name.
    pub username: String,
    /// Their roles with this token.
    pub roles: Vec<Cow<'static, str>>,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
pub struct User {
    /// Which.
    pub id: u64,
    /// How they log in.
    pub username: String,
    /// Their roles.
    pub roles: Vec<Cow<'static, str>>,
    /// True if they may do anything at all.
    pub active: bool,
    /// Since when they are known.
    pub created_at: String,
}

lists! {
    (Debug, Serialize, ToSchema)
    /// Users, by id.
    UserList { users: User }
    /// API keys, by id.
    ApiKeyList { api_keys: ApiKey }
    /// Privileged acts, newest first.
    ActList { acts: Act }
}

/// An API key, without the key itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKey {
    /// Which.
    pub id: u64,
    /// For people.
    pub name: String,
    /// Its first characters.
    pub prefix: String,
    /// Of its user's roles only these; null: all.
    pub scopes: Option<Vec<Cow<'static, str>>>,
    /// When it was made.
    pub created_at: String,
    /// When it was last used, to the minute.
    pub last_used_at: Option<String>,
    /// When it was taken back.
    pub revoked_at: Option<String>,
}

/// A new API key, shown this once (P13).
#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewApiKey {
    /// Which.
    pub id: u64,
    /// For people.
    pub name: String,
    /// The key itself, to be shown as a bearer token.
    pub key: String,
    /// Its first characters.
    pub prefix: String,
    /// Of its user's roles only these; null: all.
    pub scopes: Option<Vec<Cow<'static, str>>>,
    /// When it was made.
    pub created_at: String,
}

/// A privileged act (I7).
#[derive(Debug, Serialize, ToSchema)]
pub struct Act {
    /// When.
    pub at: String,
    /// The user; 0 is the holder of the admin token.
    pub user_id: u64,
    /// Their name at the time.
    pub username: String,
    /// What they did.
    pub action: String,
    /// To what.
    pub subject: String,
}

impl From<&UserRecord> for User {
    fn from(user: &UserRecord) -> Self {
        Self {
            id: user.id.0,
            username: user.name.to_string(),
            roles: show_roles(user.roles),
            active: user.active,
            created_at: show_moment(user.created_at),
        }
    }
}

impl From<&ApiKeyRecord> for ApiKey {
    fn from(key: &ApiKeyRecord) -> Self {
        Self {
            id: key.id,
            name: key.name.to_string(),
            prefix: key.prefix.to_string(),
            scopes: key.scopes.map(show_roles),
            created_at: show_moment(key.created_at),
            last_used_at: key.last_used_at.map(show_moment),
            revoked_at: key.revoked_at.map(show_moment),
        }
    }
}

impl From<AuditRecord> for Act {
    fn from(act: AuditRecord) -> Self {
        Self {
            at: show_moment(act.at),
            user_id: act.actor.user.0,
            username: act.actor.name.into(),
            action: act.action.into(),
            subject: act.subject.into(),
        }
    }
}

/// The names of roles.
pub(crate) fn show_roles(roles: Roles) -> Vec<Cow<'static, str>> {
    roles.iter().map(|role| role.as_str().into()).collect()
}

/// ISO 8601 in UTC with microseconds, as contract P has it.
fn show_moment(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.6}")
}

/// A body that is an object, read field by field. What is wrong is gathered until [`Self::finish`]. Fields that are not
/// asked for are ignored, as FastAPI does; `null` counts as absent.
pub(crate) struct Shape {
    object: Map<String, Value>,
    wrong: Vec<Misfit>,
}

/// Name of the user.
pub(crate) struct Credentials {
    pub(crate) username: String,
    pub(crate) password: Password,
}

impl Shape {
    /// Text of so many characters.
    pub(crate) fn text(&mut self, field: &str, chars_max: usize) -> Option<String> {
        let value = self.value(field)?;
        let text = value.as_str().map(str::to_owned);
        let wrong = match text.as_deref().map(|text| text.chars().count()) {
            None => "Input should be a valid string".to_owned(),
            Some(0) => "String should have at least 1 character".to_owned(),
            Some(chars) if chars > chars_max => format!("String should have at most {chars_max} characters"),
            Some(_) => return text,
        };
        self.blame(field, wrong)
    }

    /// The name of a user: it stands in addresses and in the audit log.
    pub(crate) fn username(&mut self, field: &str) -> Option<String> {
        let name = self.text(field, USERNAME_CHARS_MAX)?;
        let is_fine = |char: char| char.is_alphanumeric() || "._@+-".contains(char);
        if !name.chars().all(is_fine) {
            return self.blame(field, "String should be letters, digits and . _ @ + - only");
        }
        // As a step of a path these lead elsewhere, so nobody could name such a user.
        if name == "." || name == ".." {
            return self.blame(field, "String should be more than dots");
        }
        if name == ADMIN_NAME {
            return self.blame(field, "This name stands for whoever has the admin token");
        }
        Some(name)
    }

    /// A password to be used from now on.
    pub(crate) fn new_password(&mut self, field: &str) -> Option<Password> {
        let value = self.value(field)?;
        match value.as_str().map(Password::chosen) {
            Some(Ok(password)) => Some(password),
            Some(Err(wrong)) => self.blame(field, wrong.to_string()),
            None => self.blame(field, "Input should be a valid string"),
        }
    }

    /// A set of roles.
    pub(crate) fn roles(&mut self, field: &str) -> Option<Roles> {
        let value = self.value(field)?;
        let Some(words) = value.as_array() else {
            return self.blame(field, "Input should be a valid list");
        };
        if words.len() > Role::ALL.len() {
            return self.blame(field, format!("List should have at most {} items", Role::ALL.len()));
        }
        let (mut roles, before) = (Roles::NONE, self.wrong.len());
        for (at, word) in words.iter().enumerate() {
            match word.as_str().and_then(Role::from_word) {
                Some(role) => roles = roles.with(role),
                None => {
                    let loc = vec!["body".into(), field.into(), at.into()];
                    self.wrong.push(Misfit::new(loc, NO_ROLE));
                }
            }
        }
        (self.wrong.len() == before).then_some(roles)
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self, field: &str) -> Option<bool> {
        let value = self.value(field)?;
        value.as_bool().or_else(|| self.blame(field, "Input should be a valid boolean"))
    }

    /// True if a field is there.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.object.get(field).is_some_and(|value| !value.is_null())
    }

    /// A field that must be there: what was read of it, or that it is missing.
    pub(crate) fn must<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&mut Self, &str) -> Option<T>,
    ) -> Option<T> {
        if self.has(field) { read(self, field) } else { self.blame(field, "Field required") }
    }

    /// Blames a field.
    pub(crate) fn blame<T>(&mut self, field: &str, msg: impl Into<String>) -> Option<T> {
        self.wrong.push(Misfit::field(field, msg));
        None
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// 422 with all that was wrong.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Problem::misfits(self.wrong)) }
    }

    fn of(value: Value) -> Result<Self, Problem> {
        match value {
            Value::Object(object) => Ok(Self { object, wrong: Vec::new() }),
            _ => Err(Problem::misfit(Misfit::body(NO_OBJECT))),
        }
    }

    fn value(&self, field: &str) -> Option<Value> {
        self.object.get(field).filter(|value| !value.is_null()).cloned()
    }
}

impl FromRequest<HttpState> for Shape {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        let BodyBytes(bytes) = BodyBytes::from_request(request, http).await?;
        let value = read_json(&bytes, BODY_BYTES_MAX).map_err(|problem| match problem.status() {
            StatusCode::BAD_REQUEST => {
                Problem::misfit(Misfit::body(format!("JSON decode error: {}", problem.detail())))
            }
            _ => problem,
        });
        Self::of(value?)
    }
}

impl FromRequest<HttpState> for Credentials {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        let mut shape =
            if is_form(&request) { form(request).await? } else { Shape::from_request(request, http).await? };
        let username = shape.must("username", |shape, field| shape.text(field, usize::MAX));
        let password = shape.must("password", |shape, field| match shape.value(field) {
            Some(Value::String(text)) => Some(Password::shown(text)),
            _ => shape.blame(field, "Input should be a valid string"),
        });
        if shape.value("grant_type").is_some_and(|kind| kind != "password") {
            shape.blame::<()>("grant_type", "String should match pattern '^password$'");
        }
        shape.finish()?;
        let both = username.zip(password).map(|(username, password)| Self { username, password });
        both.ok_or_else(|| Problem::internal(&"a login without name or password was taken"))
    }
}

fn is_form(request: &Request) -> bool {
    let kind =
        request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

async fn form(mut request: Request) -> Result<Shape, Problem> {
    DefaultBodyLimit::max(BODY_BYTES_MAX).apply(&mut request);
    let form = Form::<Vec<(String, String)>>::from_request(request, &()).await;
    let Form(pairs) = form.map_err(|rejection: FormRejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(BODY_BYTES_MAX),
        _ => Problem::misfit(Misfit::body("Input should be a valid form")),
    })?;
    let mut shape = Shape { object: Map::new(), wrong: Vec::new() };
    for (field, value) in pairs {
        // An empty field of a form is no field.
        if !value.is_empty() && shape.object.insert(field.clone(), value.into()).is_some() {
            return Err(Problem::misfit(Misfit::field(&field, "Field given twice")));
        }
    }
    Ok(shape)
}

const NO_OBJECT: &str = "Input should be a valid dictionary or object to extract fields from";
const NO_ROLE: &str = "Input should be 'CLIENT', 'WORKER_OWNER', 'VIEWER', 'OPERATOR' or 'ADMIN'";

/// Addresses of people fit.
pub(crate) const USERNAME_CHARS_MAX: usize = 120;

/// The longest password fits, however it is written; strangers may send no more.
const BODY_BYTES_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// P13: times are ISO 8601 in UTC with microseconds.
    #[test]
    fn moments_have_microseconds() {
        assert_eq!(show_moment(Timestamp(1_770_553_845_123)), "2026-02-08T12:30:45.123000Z");
        assert!(show_moment(Timestamp(i64::MAX)).starts_with("9999-"));
    }

    fn shape(value: Value) -> Shape {
        Shape::of(value).unwrap()
    }

    fn detail(shape: Shape) -> String {
        shape.finish().unwrap_err().detail().to_owned()
    }

    /// P1: all that is wrong is told at once, each with its place.
    #[test]
    fn everything_wrong_is_told() {
        let mut wrong =
            shape(json!({"username": "", "password": "short", "roles": ["CLIENT", "KING", 7], "active": 1}));
        assert_eq!(wrong.must("username", |shape, field| shape.username(field)), None);
        assert!(wrong.new_password("password").is_none());
        assert_eq!(wrong.roles("roles"), None);
        assert_eq!(wrong.boolean("active"), None);
        assert_eq!(wrong.must("name", |shape, field| shape.text(field, 9)), None);
        assert_eq!(wrong.wrong.len(), 6);
        let told = detail(wrong);
        assert!(told.contains("body.roles.1: Input should be 'CLIENT', "), "{told}");
        assert!(told.contains("8 to 1024 bytes, not 5"), "{told}");
    }

    /// P1: what fits is read; unknown fields and nulls are no matter.
    #[test]
    fn what_fits_is_read() {
        let mut fine = shape(
            json!({"username": "ann@example.org", "roles": ["ADMIN", "CLIENT"], "active": null, "x": 1}),
        );
        assert_eq!(fine.username("username").as_deref(), Some("ann@example.org"));
        assert_eq!(fine.roles("roles"), Some(Roles::NONE.with(Role::Client).with(Role::Admin)));
        assert_eq!((fine.boolean("active"), fine.has("active")), (None, false));
        assert_eq!(fine.finish(), Ok(()));
    }

    /// P1: names cannot be mistaken for the admin token or break a line of the log.
    #[test]
    fn a_username_is_plain() {
        for name in ["admin-token", ".", "..", "a b", "a/b", "a\nb", "\u{202e}x", "a\0", &"x".repeat(121)] {
            let mut shape = shape(json!({"username": name}));
            assert_eq!(shape.username("username"), None, "{name:?}");
        }
        assert!(Shape::of(json!([])).is_err_and(|problem| problem.status() == 422));
    }
}
