//! Users, logins and keys (P1, I7): what is asked of them is decided by the same writer as everything else, so a
//! name is somebody's at most once and a token that was exchanged is dead for everybody at the same moment.

#[cfg(test)]
mod tests;

use crate::kernel::{Context, Decision};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use muster_model::{
    AccountChange, AccountCommand, AccountEvent, AccountRejection, AccountReply, ApiKeyRecord, LoginRecord,
    Millis, Timestamp, UserChange, UserId, UserRecord,
};

/// Everything known of accounts; there are never many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    users: BTreeMap<UserId, UserRecord>,
    names: BTreeMap<Box<str>, UserId>,
    logins: BTreeMap<u128, LoginRecord>,
    /// Logins by the moment they end.
    by_end: BTreeSet<(Timestamp, u128)>,
    /// Logins by user, oldest end first.
    by_user: BTreeSet<(UserId, Timestamp, u128)>,
    /// Keys that were not taken back.
    keys: BTreeMap<u64, ApiKeyRecord>,
    /// Number of keys of each user.
    key_counts: BTreeMap<UserId, usize>,
    /// The largest number a key was given.
    last_key: u64,
    changes: Vec<AccountChange>,
}

impl Accounts {
    /// Changes memory by one event.
    pub(crate) fn apply(&mut self, event: &AccountEvent) {
        match event {
            AccountEvent::UserAdded(user) => self.put_user((**user).clone()),
            AccountEvent::UserChanged { user, change, .. } => self.change_user(*user, change),
            AccountEvent::LoginBegan(login) | AccountEvent::LoginRefreshed(login) => {
                self.put_login(*login);
                self.changes.push(AccountChange::Login(*login));
            }
            AccountEvent::LoginEnded { login } => {
                self.remove_login(*login);
                self.changes.push(AccountChange::LoginGone(*login));
            }
            AccountEvent::KeyAdded(key) => self.put_key((**key).clone()),
            AccountEvent::KeyRevoked { key, at } => self.revoke_key(*key, *at),
            AccountEvent::KeyTouched { key, at } => self.change_key(*key, |key| key.last_used_at = Some(*at)),
        }
    }

    /// Takes a record that a store kept.
    pub(crate) fn take_loaded(&mut self, record: AccountChange) {
        match record {
            AccountChange::User(user) => self.put_user(*user),
            AccountChange::Login(login) => self.put_login(login),
            AccountChange::ApiKey(key) => self.put_key(*key),
            AccountChange::LoginGone(_) | AccountChange::Audit(_) => {}
        }
        self.changes.clear();
    }

    /// The rows changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<AccountChange> {
        core::mem::take(&mut self.changes)
    }

    /// The rows of everything live, sorted: what a store must hold of it.
    pub(crate) fn live_rows(&self) -> impl Iterator<Item = AccountChange> {
        let users = self.users.values().cloned().map(|user| AccountChange::User(user.into()));
        let keys = self.keys.values().cloned().map(|key| AccountChange::ApiKey(key.into()));
        users.chain(self.logins.values().copied().map(AccountChange::Login)).chain(keys)
    }

    fn put_user(&mut self, user: UserRecord) {
        self.names.insert(user.name.clone(), user.id);
        self.changes.push(AccountChange::User(user.clone().into()));
        self.users.insert(user.id, user);
    }

    fn change_user(&mut self, id: UserId, change: &UserChange) {
        let Some(user) = self.users.get_mut(&id) else {
            return;
        };
        user.password_hash = change.password_hash.clone().unwrap_or_else(|| user.password_hash.clone());
        user.roles = change.roles.unwrap_or(user.roles);
        user.active = change.active.unwrap_or(user.active);
        self.changes.push(AccountChange::User(user.clone().into()));
    }

    fn put_login(&mut self, login: LoginRecord) {
        self.remove_login(login.id);
        self.by_end.insert((login.expires_at, login.id));
        self.by_user.insert((login.user, login.expires_at, login.id));
        self.logins.insert(login.id, login);
    }

    fn remove_login(&mut self, id: u128) {
        if let Some(login) = self.logins.remove(&id) {
            self.by_end.remove(&(login.expires_at, id));
            self.by_user.remove(&(login.user, login.expires_at, id));
        }
    }

    fn put_key(&mut self, key: ApiKeyRecord) {
        self.changes.push(AccountChange::ApiKey(key.clone().into()));
        self.last_key = self.last_key.max(key.id);
        if key.revoked_at.is_none() {
            *self.key_counts.entry(key.user).or_default() += 1;
            self.keys.insert(key.id, key);
        }
    }

    /// A key that was taken back leaves memory; its row tells of it for a while.
    fn revoke_key(&mut self, id: u64, at: Timestamp) {
        let Some(key) = self.keys.remove(&id) else {
            return;
        };
        if let Some(count) = self.key_counts.get_mut(&key.user) {
            *count -= 1;
        }
        let revoked = ApiKeyRecord { revoked_at: Some(at), ..key };
        self.changes.push(AccountChange::ApiKey(revoked.into()));
    }

    fn change_key(&mut self, id: u64, change: impl FnOnce(&mut ApiKeyRecord)) {
        if let Some(key) = self.keys.get_mut(&id) {
            change(key);
            self.changes.push(AccountChange::ApiKey(key.clone().into()));
        }
    }
}

type Decided = crate::kernel::Decided<AccountReply, AccountRejection>;

/// Decides a command.
pub(crate) fn decide(accounts: &Accounts, command: AccountCommand, context: &Context<'_>) -> Decided {
    let now = context.now;
    match command {
        AccountCommand::AddUser { name, password_hash, roles } => {
            let id = UserId(accounts.users.last_key_value().map_or(1, |(id, _)| id.0 + 1));
            add_user(accounts, UserRecord { id, name, password_hash, roles, active: true, created_at: now })
        }
        AccountCommand::ChangeUser { user, change } => change_user(accounts, user, change, now),
        // A password that was replaced meanwhile opens nothing.
        AccountCommand::Login { user, password_hash, ttl } => {
            let known = accounts.users.get(&user);
            let known = known.filter(|user| user.active && user.password_hash == password_hash);
            known.ok_or(AccountRejection::UserUnknown)?;
            Ok(login(accounts, user, ttl, context))
        }
        AccountCommand::Refresh { login, generation, ttl } => {
            let known = accounts.logins.get(&login);
            let live = known.filter(|known| known.generation == generation && known.expires_at > now);
            refresh(accounts, live.ok_or(AccountRejection::LoginUnknown)?, now + ttl)
        }
        AccountCommand::Logout { login } => {
            let known = accounts.logins.contains_key(&login);
            known.then_some(()).ok_or(AccountRejection::LoginUnknown)?;
            Ok(done(AccountEvent::LoginEnded { login }))
        }
        AccountCommand::AddKey { user, name, prefix, hash, scopes } => {
            let key = ApiKeyRecord {
                id: accounts.last_key + 1,
                user,
                name,
                prefix,
                hash,
                scopes,
                created_at: now,
                last_used_at: None,
                revoked_at: None,
            };
            add_key(accounts, key)
        }
        AccountCommand::RevokeKey { key, user } => {
            let known = accounts.keys.get(&key);
            let theirs = known.filter(|known| user.is_none_or(|user| user == known.user));
            theirs.ok_or(AccountRejection::KeyUnknown)?;
            Ok(done(AccountEvent::KeyRevoked { key, at: now }))
        }
        AccountCommand::Note { .. } => Ok(Decision::unchanged(AccountReply::Done)),
        AccountCommand::TouchKey { key } => {
            accounts.keys.get(&key).ok_or(AccountRejection::KeyUnknown)?;
            Ok(done(AccountEvent::KeyTouched { key, at: now }))
        }
    }
}

fn add_user(accounts: &Accounts, user: UserRecord) -> Decided {
    if accounts.names.contains_key(&user.name) {
        return Err(AccountRejection::NameTaken.into());
    }
    let user = Box::new(user);
    Ok(Decision::new([AccountEvent::UserAdded(user.clone())], AccountReply::User(user)))
}

/// A new password, or an end of service, ends whatever the user is logged in with.
fn change_user(accounts: &Accounts, id: UserId, change: UserChange, now: Timestamp) -> Decided {
    let user = accounts.users.get(&id).ok_or(AccountRejection::UserUnknown)?;
    let ends_logins = change.password_hash.is_some() || change.active == Some(false);
    let reply = UserRecord {
        password_hash: change.password_hash.clone().unwrap_or_else(|| user.password_hash.clone()),
        roles: change.roles.unwrap_or(user.roles),
        active: change.active.unwrap_or(user.active),
        ..user.clone()
    };
    let mut events = Vec::from([AccountEvent::UserChanged { user: id, change, at: now }]);
    if ends_logins {
        events.extend(logins_of(accounts, id).map(|login| AccountEvent::LoginEnded { login }));
    }
    Ok(Decision::new(events, AccountReply::User(reply.into())))
}

/// Begins a login for a user, and clears away logins that are over.
fn login(accounts: &Accounts, user: UserId, ttl: Millis, context: &Context<'_>) -> Decision<AccountReply> {
    let record = LoginRecord { id: context.number(0), user, generation: 1, expires_at: context.now + ttl };
    let over = accounts.by_end.iter().take_while(|(end, _)| *end <= context.now).take(ENDED_PER_LOGIN);
    let mut events: Vec<AccountEvent> =
        over.map(|(_, login)| AccountEvent::LoginEnded { login: *login }).collect();
    let mine = logins_of(accounts, user).count();
    let oldest = logins_of(accounts, user).take((mine + 1).saturating_sub(LOGINS_PER_USER));
    events.extend(oldest.map(|login| AccountEvent::LoginEnded { login }));
    events.push(AccountEvent::LoginBegan(record));
    Decision::new(events, AccountReply::Login(record))
}

/// The next token of a login; with it the one before is dead (P1).
fn refresh(accounts: &Accounts, login: &LoginRecord, expires_at: Timestamp) -> Decided {
    accounts.users.get(&login.user).filter(|user| user.active).ok_or(AccountRejection::UserUnknown)?;
    let next = LoginRecord { generation: login.generation.saturating_add(1), expires_at, ..*login };
    Ok(Decision::new([AccountEvent::LoginRefreshed(next)], AccountReply::Login(next)))
}

fn add_key(accounts: &Accounts, key: ApiKeyRecord) -> Decided {
    if accounts.key_counts.get(&key.user).is_some_and(|count| *count >= KEYS_PER_USER) {
        return Err(AccountRejection::TooMany { max: KEYS_PER_USER }.into());
    }
    let key = Box::new(key);
    Ok(Decision::new([AccountEvent::KeyAdded(key.clone())], AccountReply::Key(key)))
}

fn done(event: AccountEvent) -> Decision<AccountReply> {
    Decision::new([event], AccountReply::Done)
}

/// The logins of a user, those that end first first.
fn logins_of(accounts: &Accounts, user: UserId) -> impl Iterator<Item = u128> {
    let from = (user, Timestamp(i64::MIN), 0);
    accounts.by_user.range(from..).take_while(move |(of, ..)| *of == user).map(|(_, _, login)| *login)
}

/// Number of ended logins that are cleared away with each new one.
const ENDED_PER_LOGIN: usize = 16;
/// One more ends the oldest.
const LOGINS_PER_USER: usize = 100;
/// One more is refused.
const KEYS_PER_USER: usize = 1000;
