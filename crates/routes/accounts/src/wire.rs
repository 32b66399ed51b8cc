//! The words of accounts, as JSON and as OpenAPI schemas.

use muster_model::{ApiKeyRecord, AuditRecord, Roles, Timestamp, UserRecord};
use serde::Serialize;
use utoipa::ToSchema;

/// What a login is answered with (P1).
#[derive(Serialize, ToSchema)]
pub struct Token {
    /// A JSON Web Token, to be shown as a bearer token.
    pub access_token: String,
    /// Always `bearer`.
    pub token_type: &'static str,
    /// How many seconds it lasts unless it is refreshed.
    pub expires_in: i64,
}

/// Whoever a token belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub struct Me {
    /// Which user; 0 is whoever has the admin token.
    pub id: u64,
    /// Their name.
    pub username: String,
    /// What they may do with this token.
    pub roles: Vec<&'static str>,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
pub struct User {
    /// Which.
    pub id: u64,
    /// How they log in.
    pub username: String,
    /// What they may do.
    pub roles: Vec<&'static str>,
    /// Whether they may do anything at all.
    pub active: bool,
    /// Since when they are known.
    pub created_at: String,
}

/// Users, by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    /// This page.
    pub users: Vec<User>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
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
    pub scopes: Option<Vec<&'static str>>,
    /// When it was made.
    pub created_at: String,
    /// When it was last used, to the minute.
    pub last_used_at: Option<String>,
    /// When it was taken back.
    pub revoked_at: Option<String>,
}

/// A new API key, shown this once (P13).
#[derive(Serialize, ToSchema)]
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
    pub scopes: Option<Vec<&'static str>>,
    /// When it was made.
    pub created_at: String,
}

/// API keys, by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyList {
    /// This page.
    pub api_keys: Vec<ApiKey>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A privileged act (I7).
#[derive(Debug, Serialize, ToSchema)]
pub struct Act {
    /// When.
    pub at: String,
    /// Who; 0 is whoever has the admin token.
    pub user_id: u64,
    /// Their name at the time.
    pub username: String,
    /// What they did.
    pub action: String,
    /// To what.
    pub subject: String,
}

/// Privileged acts, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActList {
    /// This page.
    pub acts: Vec<Act>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
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
pub(crate) fn show_roles(roles: Roles) -> Vec<&'static str> {
    roles.iter().map(muster_model::Role::as_str).collect()
}

/// ISO 8601 in UTC with microseconds, as contract P has it.
fn show_moment(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P13: times are ISO 8601 in UTC with microseconds.
    #[test]
    fn moments_have_microseconds() {
        assert_eq!(show_moment(Timestamp(1_770_553_845_123)), "2026-02-08T12:30:45.123000Z");
        assert!(show_moment(Timestamp(i64::MAX)).starts_with("9999-"));
    }
}
