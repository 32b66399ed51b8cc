//! Accounts: tables `users` and `logins` (P1), `api_keys` (P13) and `audit_log`.

use crate::{
    record::{TableRecord as _, put_values, table},
    shape::{Put, Update},
    sql::{Fault, Sink},
};
use muster_model::{Actor, ApiKeyRecord, AuditRecord, LoginRecord, UserRecord};

table! {
    // To overwrite the whole row would delete another user of the same name.
    UserRecord in "users", key ["id"], put Named {
        id: Number("id"),
        name: Text("name"),
        password_hash: Text("password_hash"),
        roles: Text("roles"),
        active: Number("active"),
        created_at: Number("created_at"),
    }
}

table! {
    LoginRecord in "logins", key ["id"], put Whole {
        id: Bytes("id"),
        user: Number("user_id"),
        generation: Number("generation"),
        expires_at: Number("expires_at"),
    }
}

table! {
    ApiKeyRecord in "api_keys", key ["id"], put Whole {
        id: Number("id"),
        user: Number("user_id"),
        name: Text("name"),
        prefix: Text("prefix"),
        hash: Bytes("hash"),
        scopes: Text("scopes"),
        created_at: Number("created_at"),
        last_used_at: Number("last_used_at"),
        revoked_at: Number("revoked_at"),
    }
}

table! {
    AuditRecord in "audit_log", key ["id"], put Never {
        at: Number("at"),
        user: Number("user_id"),
        name: Text("user_name"),
        action: Text("action"),
        subject: Text("subject"),
    }
    row AuditRecord { actor: Actor { user, name, reason }, action, subject, at }
    derived { reason = None }
    numbered "id"
}

/// Deletes a login.
pub(crate) fn delete_login(sink: &mut dyn Sink, id: u128) -> Result<(), Fault> {
    static GONE: Put = LoginRecord::TABLE.put_first(1, Update::Gone);
    put_values(sink, &GONE, &[(&id.to_be_bytes()).into()])
}
