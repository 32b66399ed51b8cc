//! The secrets that open the door (I6, I7), kept as hashes.

use crate::{Caller, Node};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The node secret and the admin token. Only their hashes are held, so no dump or log can show them.
pub struct Keys {
    node: [u8; 32],
    admin: [u8; 32],
}

impl Keys {
    /// Takes the shared node secret and the admin token.
    #[must_use]
    pub fn new(node_secret: &str, admin_token: &str) -> Self {
        Self { node: hash(node_secret), admin: hash(admin_token) }
    }

    /// Says whose token this is; `is_own` tells whether it is a secret of some single node.
    ///
    /// Hashes are compared, in constant time: how long it takes says nothing about how much was right.
    pub(crate) fn judge(&self, token: &str, is_own: impl FnOnce(&str) -> bool) -> Option<Caller> {
        let given = hash(token);
        let is_admin = bool::from(given.ct_eq(&self.admin));
        let is_node = bool::from(given.ct_eq(&self.node));
        match (is_admin, is_node) {
            (true, _) => Some(Caller::Operator),
            (false, true) => Some(Caller::Node(Node::shared())),
            (false, false) => is_own(token).then(|| Caller::Node(Node::own(token))),
        }
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(…)")
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N3, I7: each secret opens its own door, a per-node secret as well, anything else none.
    #[test]
    fn a_token_says_who_is_calling() {
        let keys = Keys::new("node-secret", "admin-token");
        let own = |token: &str| token == "own-secret";
        assert!(matches!(keys.judge("admin-token", own), Some(Caller::Operator)));
        assert!(matches!(keys.judge("node-secret", own), Some(Caller::Node(_))));
        assert!(matches!(keys.judge("own-secret", own), Some(Caller::Node(_))));
        for wrong in ["", "node-secre", "node-secret ", "NODE-SECRET"] {
            assert!(keys.judge(wrong, own).is_none(), "{wrong:?}");
        }
    }

    /// I6: secrets do not show in what is printed for debugging.
    #[test]
    fn secrets_do_not_show() {
        let keys = Keys::new("node-secret", "admin-token");
        let caller = keys.judge("own-secret", |_| true);
        let shown = format!("{keys:?} {caller:?}");
        assert!(!shown.contains("secret") && !shown.contains("token"), "{shown}");
    }
}
