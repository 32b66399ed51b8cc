//! What subscribers read about accounts: that something changed, nothing that opens a door.

use super::{Body, Entry};
use muster_model::AccountEvent;

/// The entry for an event, if it is published.
pub(super) fn phrase(event: &AccountEvent) -> Option<Entry> {
    Some(match event {
        AccountEvent::UserAdded(user) => ("user_added", Body::at(user.created_at).raw("user", user.id)),
        AccountEvent::UserChanged { user, change, at } => {
            let body = Body::at(*at).raw("user", user);
            ("user_changed", change.active.iter().fold(body, |body, active| body.raw("active", active)))
        }
        AccountEvent::KeyAdded(key) => {
            ("api_key_added", Body::at(key.created_at).raw("user", key.user).raw("key", key.id))
        }
        AccountEvent::KeyRevoked { key, at } => ("api_key_revoked", Body::at(*at).raw("key", key)),
        // Logins and uses of keys come by the thousand, and are their user's own affair.
        AccountEvent::LoginBegan(_)
        | AccountEvent::LoginRefreshed(_)
        | AccountEvent::LoginEnded { .. }
        | AccountEvent::KeyTouched { .. } => return None,
    })
}
