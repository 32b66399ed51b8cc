//! The people of the demo's pool: made over the API, each with a password of the demo's own (P1).

use super::super::server::Server;
use crate::{client::Client, failure::Failure};
use serde_json::json;

/// Somebody who is logged in.
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) password: String,
    pub(super) client: Client,
}

impl Person {
    /// Makes the user and logs in as them.
    pub(super) async fn welcome(
        name: &'static str,
        role: &'static str,
        server: &Server,
    ) -> Result<Self, Failure> {
        let password: String = rand::random::<[u8; 16]>().iter().map(|byte| format!("{byte:02x}")).collect();
        let user = json!({"username": name, "password": password, "roles": [role]});
        server.client().post(&["users"], &user).await?;
        let stranger = server.client_with(None);
        let answer =
            stranger.post(&["auth", "login"], &json!({"username": name, "password": password})).await?;
        let token = answer["access_token"].as_str().unwrap_or_default().to_owned();
        Ok(Self { name, password, client: server.client_with(Some(token)) })
    }
}
