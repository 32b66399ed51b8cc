//! The secrets that grants access (I6, I7), kept as hashes.

use crate::{Identity, Node, Signer, bearer::Bearer};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The node secret, the admin token and the enrolment secret, of which only hashes are held, so that no dump or log can
/// show them; and what the tokens of logins are signed with.
pub struct Keys {
    node: [u8; 32],
    admin: [u8; 32],
    enrolment: Option<[u8; 32]>,
    signer: Signer,
}

impl Keys {
    /// Takes the shared node secret and the admin token. Tokens of logins are signed with a secret of this moment: they
    /// end with the process, unless [`Self::signing`] gives one that stays.
    #[must_use]
    pub fn new(node_secret: &str, admin_token: &str) -> Self {
        let signer = Signer::new(&rand::random::<[u8; 32]>());
        Self { node: hash(node_secret), admin: hash(admin_token), enrolment: None, signer }
    }

    /// Takes the secret with which simulation workers enrol too; without one nobody can (S1).
    #[must_use]
    pub fn enrolling(self, enrolment_secret: &str) -> Self {
        Self { enrolment: Some(hash(enrolment_secret)), ..self }
    }

    /// Takes the secret that tokens of logins are signed with (P1).
    #[must_use]
    pub fn signing(self, token_secret: &str) -> Self {
        Self { signer: Signer::new(token_secret.as_bytes()), ..self }
    }

    pub(crate) const fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Says whose token this is, if it is one of those.
    ///
    /// Hashes are compared, in constant time: how long it takes says nothing about how much was right.
    pub(crate) fn judge(&self, token: &str) -> Option<Bearer> {
        let given = hash(token);
        let is = |known: &[u8; 32]| bool::from(given.ct_eq(known));
        let (is_admin, is_node) = (is(&self.admin), is(&self.node));
        let enrols = self.enrolment.as_ref().is_some_and(is);
        match (is_admin, is_node, enrols) {
            (true, ..) => Some(Bearer::User(Identity::admin())),
            (_, true, _) => Some(Bearer::Node(Node::shared())),
            (.., true) => Some(Bearer::Enroller),
            _ => None,
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
    use muster_model::UserId;

    /// N3, I7, S1: each secret opens its own door, anything else none.
    #[test]
    fn a_token_says_who_is_calling() {
        let keys = Keys::new("node-secret", "admin-token").enrolling("enrol-secret");
        assert!(matches!(keys.judge("admin-token"), Some(Bearer::User(admin)) if admin.id == UserId(0)));
        assert!(matches!(keys.judge("node-secret"), Some(Bearer::Node(_))));
        assert!(matches!(keys.judge("enrol-secret"), Some(Bearer::Enroller)));
        assert!(Keys::new("node-secret", "admin-token").judge("enrol-secret").is_none());
        for wrong in ["", "node-secre", "node-secret ", "NODE-SECRET"] {
            assert!(keys.judge(wrong).is_none(), "{wrong:?}");
        }
    }

    /// I6: secrets do not show in what is printed for debugging.
    #[test]
    fn secrets_do_not_show() {
        let keys = Keys::new("node-secret", "admin-token").enrolling("enrol-secret");
        let shown =
            format!("{keys:?} {:?} {:?}", keys.judge("node-secret"), Bearer::Node(Node::own("own-secret")));
        assert!(!shown.contains("secret") && !shown.contains("token"), "{shown}");
    }
}
