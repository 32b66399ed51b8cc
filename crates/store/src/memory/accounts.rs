//! The rows of accounts, and what is done with them.

use crate::Loaded;
use muster_model::{AccountChange, ApiKeyRecord, AuditRecord, LoginRecord, Timestamp, UserId, UserRecord};
use std::collections::BTreeMap;

/// All rows of accounts of a store in memory.
#[derive(Clone, Default)]
pub(crate) struct AccountTables {
    pub(crate) users: BTreeMap<UserId, UserRecord>,
    pub(crate) api_keys: BTreeMap<u64, ApiKeyRecord>,
    /// Acts by the order they were done in.
    pub(crate) audit: BTreeMap<u64, AuditRecord>,
    logins: BTreeMap<u128, LoginRecord>,
}

impl AccountTables {
    /// Hands over everything that is live, and keys that were taken back: numbering goes on after them.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(Loaded)) {
        let users = self.users.values().map(|user| AccountChange::User(Box::new(user.clone())));
        let logins = self.logins.values().copied().map(AccountChange::Login);
        let keys = self.api_keys.values().map(|key| AccountChange::ApiKey(Box::new(key.clone())));
        users.chain(logins).chain(keys).map(Loaded::Accounts).for_each(sink);
    }

    /// Writes a row.
    pub(crate) fn write(&mut self, change: &AccountChange) {
        match change {
            AccountChange::User(user) => drop(self.users.insert(user.id, (**user).clone())),
            AccountChange::Login(login) => drop(self.logins.insert(login.id, *login)),
            AccountChange::LoginGone(id) => drop(self.logins.remove(id)),
            AccountChange::ApiKey(key) => drop(self.api_keys.insert(key.id, (**key).clone())),
            AccountChange::Audit(act) => {
                let place = self.audit.last_key_value().map_or(1, |(place, _)| place + 1);
                self.audit.insert(place, act.clone());
            }
        }
    }

    /// Deletes what is old.
    pub(crate) fn prune(&mut self, cutoff: Timestamp) {
        self.audit.retain(|_, act| act.at >= cutoff);
        self.logins.retain(|_, login| login.expires_at >= cutoff);
        // The key with the largest number stays: numbering goes on from it.
        let last = self.api_keys.last_key_value().map(|(id, _)| *id);
        self.api_keys.retain(|id, key| Some(*id) == last || key.revoked_at.is_none_or(|at| at >= cutoff));
    }
}
