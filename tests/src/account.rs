//! Users, as an ADMIN adds them and as they log in.

use crate::{Answer, Client, Server};
use serde_json::json;

impl Server {
    /// Adds a user with these roles and logs them in.
    #[must_use]
    pub fn user(&self, name: &str, roles: &[&str]) -> Client {
        self.add_user(name, roles);
        self.login(name)
    }

    /// Adds a user with these roles.
    pub fn add_user(&self, name: &str, roles: &[&str]) {
        let body = json!({"username": name, "password": password_of(name), "roles": roles});
        let _ = self.admin().post("/users", &body).expect(201);
    }

    /// Logs a user in.
    #[must_use]
    pub fn login(&self, name: &str) -> Client {
        let answer = self.try_login(name, &password_of(name)).expect(200);
        self.anonymous().with_token(answer["access_token"].as_str().unwrap())
    }

    /// Tries to log in.
    #[must_use]
    pub fn try_login(&self, name: &str, password: &str) -> Answer {
        self.anonymous().post("/auth/login", &json!({"username": name, "password": password}))
    }
}

/// The password of a user of these tests: found at once wherever it should not be.
#[must_use]
pub fn password_of(name: &str) -> String {
    format!("the-password-of-{name}")
}
