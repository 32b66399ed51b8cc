//! What subscribers read about accounts: that something changed, nothing that opens a door.

use super::Body;
use muster_model::AccountEvent;

/// The kind and the body of an event, if it is told.
pub(super) fn phrase(event: &AccountEvent) -> Option<(&'static str, Body)> {
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
        AccountEvent::LoginBegan(_)
        | AccountEvent::LoginRefreshed(_)
        | AccountEvent::LoginEnded { .. }
        | AccountEvent::KeyTouched { .. } => return None,
    })
}
