//! Roles as they stand in the tables.

use muster_model::{Role, Roles};

/// `users.roles` and `api_keys.scopes`: words with a space between.
pub(crate) fn roles(roles: Roles) -> String {
    roles.iter().map(Role::as_str).collect::<Vec<_>>().join(" ")
}

/// `users.roles` and `api_keys.scopes`, read.
pub(crate) fn parse_roles(words: &str) -> Option<Roles> {
    words.split_whitespace().map(Role::from_word).collect()
}
