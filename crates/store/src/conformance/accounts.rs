//! What every store must do with accounts.

use super::{
    Fixture,
    desk::{Desk, EMPTY, before, entry, read_all},
    named,
    samples::changed,
};
use crate::{Batch, Cursor, Loaded, Page, StoreError};
use muster_model::{
    AccountChange, Actor, ApiKeyRecord, AuditRecord, Change, LoginRecord, Role, Roles, Timestamp, UserId,
    UserRecord,
};

named![
    users_are_read_as_written,
    keys_for_programs_are_read_as_written,
    privileged_acts_come_newest_first_in_pages,
    rows_of_accounts_are_replaced,
    accounts_are_handed_over_in_order,
    a_login_that_is_gone_is_loaded_no_more,
    keys_for_programs_are_filtered,
    a_cursor_nobody_gave_is_an_empty_page_of_accounts_too,
    old_acts_and_logins_go_and_nothing_else,
    a_batch_of_accounts_that_cannot_be_kept_leaves_no_trace,
];

fn user(id: u64) -> UserRecord {
    UserRecord {
        id: UserId(id),
        name: format!("user '{id}' 기기").into(),
        password_hash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".into(),
        roles: Roles::NONE.with(Role::Client),
        active: true,
        created_at: Timestamp(1),
    }
}

fn login(id: u128, expires_at: i64) -> LoginRecord {
    LoginRecord { id, user: UserId(1), generation: 1, expires_at: Timestamp(expires_at) }
}

fn api_key(id: u64, user: u64) -> ApiKeyRecord {
    ApiKeyRecord {
        id,
        user: UserId(user),
        name: "nightly \"밤\"".into(),
        prefix: "mk_abc".into(),
        hash: [7; 32],
        scopes: None,
        created_at: Timestamp(1),
        last_used_at: None,
        revoked_at: None,
    }
}

fn act(at: i64) -> AuditRecord {
    AuditRecord {
        actor: Actor { user: UserId(0), name: "admin-token".into(), reason: None },
        action: "worker_banned".into(),
        subject: format!("worker '{at}'").into(),
        at: Timestamp(at),
    }
}

fn users(desk: &Desk) -> Vec<UserRecord> {
    read_all(2, |page| desk.reader().users(page))
}

fn api_keys(desk: &Desk, user: Option<u64>) -> Vec<ApiKeyRecord> {
    read_all(2, |page| desk.reader().api_keys(user.map(UserId), page))
}

fn acts(desk: &Desk) -> Vec<i64> {
    read_all(2, |page| desk.reader().audit(page)).iter().map(|act| act.at.0).collect()
}

/// P1: several roles, none, all; not everybody may do anything at all.
fn users_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let all = UserRecord { roles: Role::ALL.into_iter().collect(), ..user(2) };
    let none = UserRecord { roles: Roles::NONE, active: false, ..user(3) };
    let expected = [user(1), all, none, user(10)];
    desk.commit(expected.iter().rev().cloned().map(changed));
    let desk = desk.reopen(fixture);
    assert_eq!(users(&desk), expected);
    let passwords: Vec<_> = users(&desk).into_iter().map(|user| user.password_hash).collect();
    assert_eq!(passwords, [(); 4].map(|()| user(1).password_hash));
}

/// P13: those that were taken back are listed too.
fn keys_for_programs_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = ApiKeyRecord {
        hash: [255; 32],
        scopes: Some(Roles::NONE.with(Role::Client).with(Role::Viewer)),
        last_used_at: Some(Timestamp(2)),
        revoked_at: Some(Timestamp(3)),
        ..api_key(2, 1)
    };
    let powerless = ApiKeyRecord { scopes: Some(Roles::NONE), ..api_key(3, 1) };
    let expected = [api_key(1, 1), full, powerless];
    desk.commit(expected.iter().rev().cloned().map(changed));
    let desk = desk.reopen(fixture);
    assert_eq!(api_keys(&desk, None), expected);
}

fn privileged_acts_come_newest_first_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    // Several of one moment come in the order they were done.
    let other = AuditRecord { actor: Actor { user: UserId(9), name: "아".into(), reason: None }, ..act(2) };
    let done = [act(1), act(2), other, act(2), act(9)];
    desk.commit(done[..2].iter().cloned().map(changed));
    desk.commit(done[2..].iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for size in [1, 2, 3, 7] {
        let read = read_all(size, |page| desk.reader().audit(page));
        assert_eq!(read, done.iter().rev().cloned().collect::<Vec<_>>());
    }
}

fn rows_of_accounts_are_replaced(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let disabled = UserRecord { active: false, password_hash: "other".into(), ..user(1) };
    let renamed = ApiKeyRecord { name: "b".into(), revoked_at: Some(Timestamp(9)), ..api_key(1, 1) };
    let refreshed = LoginRecord { generation: 2, ..login(5, 900) };
    desk.commit([changed(user(1)), changed(api_key(1, 1)), changed(login(5, 10))]);
    desk.commit([changed(user(1)), changed(disabled.clone()), changed(renamed.clone()), changed(refreshed)]);
    assert_eq!(users(&desk), [disabled]);
    assert_eq!(api_keys(&desk, None), [renamed]);
    assert_eq!(logins(&mut desk), [refreshed]);
}

/// What is loaded of accounts.
fn accounts(desk: &mut Desk) -> Vec<AccountChange> {
    let accounts = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Accounts(change) => Some(change),
        _ => None,
    });
    accounts.collect()
}

fn logins(desk: &mut Desk) -> Vec<LoginRecord> {
    let logins = accounts(desk).into_iter().filter_map(|change| match change {
        AccountChange::Login(login) => Some(login),
        _ => None,
    });
    logins.collect()
}

/// Keys that were taken back too: numbering goes on after them.
fn accounts_are_handed_over_in_order(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let revoked = ApiKeyRecord { revoked_at: Some(Timestamp(2)), ..api_key(10, 1) };
    desk.commit([changed(revoked.clone()), changed(api_key(9, 1)), changed(act(1))]);
    desk.commit([changed(login(u128::MAX, 10)), changed(login(1, 10)), changed(user(10)), changed(user(9))]);
    let mut desk = desk.reopen(fixture);
    let expected = [
        AccountChange::User(Box::new(user(9))),
        AccountChange::User(Box::new(user(10))),
        AccountChange::Login(login(1, 10)),
        AccountChange::Login(login(u128::MAX, 10)),
        AccountChange::ApiKey(Box::new(api_key(9, 1))),
        AccountChange::ApiKey(Box::new(revoked)),
    ];
    assert_eq!(accounts(&mut desk), expected);
    let loaded = desk.load();
    let place = |wanted: fn(&Loaded) -> bool| loaded.iter().position(wanted);
    let order = [
        place(|loaded| matches!(loaded, Loaded::SessionSeq(_))),
        place(|loaded| matches!(loaded, Loaded::Accounts(_))),
        place(|loaded| matches!(loaded, Loaded::Pool(_))),
    ];
    assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
}

/// P1: a token that was ended stays ended.
fn a_login_that_is_gone_is_loaded_no_more(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let gone = |id| Change::Accounts(AccountChange::LoginGone(id));
    desk.commit([changed(login(1, 10)), changed(login(2, 10)), changed(login(3, 10)), gone(2)]);
    desk.commit([gone(1), gone(9)]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(logins(&mut desk), [login(3, 10)]);
    desk.commit([gone(3), changed(login(3, 20))]);
    assert_eq!(logins(&mut desk), [login(3, 20)]);
}

fn keys_for_programs_are_filtered(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=6).map(|id| changed(api_key(id, id % 2))));
    let ids = |user| api_keys(&desk, Some(user)).iter().map(|key| key.id).collect::<Vec<_>>();
    assert_eq!([0, 1, 2].map(ids), [vec![2, 4, 6], vec![1, 3, 5], vec![]]);
}

fn part<T>(page: Result<Page<T>, StoreError>) -> (usize, Option<String>) {
    let page = page.expect("a page is read");
    (page.items.len(), page.next)
}

/// A page of each list.
fn found(desk: &Desk, after: Option<&str>, limit: u32) -> [(usize, Option<String>); 3] {
    let page = &Cursor { after: after.map(str::to_owned), limit };
    let reader = desk.reader();
    [part(reader.users(page)), part(reader.api_keys(None, page)), part(reader.audit(page))]
}

fn a_cursor_nobody_gave_is_an_empty_page_of_accounts_too(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=3).flat_map(|id| [changed(user(id)), changed(api_key(id, 1)), changed(act(5))]));
    for text in ["", "2", "' OR 1=1 --", "users:", "users:-1", "api_keys:x", "audit:1.5", "workers:1"] {
        assert_eq!(found(&desk, Some(text), 2), [const { (0, None) }; 3], "{text}");
    }
    for (place, (_, next)) in found(&desk, None, 1).into_iter().enumerate() {
        let mut expected = [const { (0, None) }; 3];
        expected[place] = (2, None);
        assert_eq!(found(&desk, next.as_deref(), 2), expected, "{next:?}");
    }
}

fn old_acts_and_logins_go_and_nothing_else(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let revoked = |id, at| ApiKeyRecord { revoked_at: Some(Timestamp(at)), ..api_key(id, 1) };
    let keys = [revoked(1, 2), api_key(2, 1), revoked(3, 300), revoked(4, 2)];
    desk.commit([changed(user(1))]);
    desk.commit(keys.clone().map(changed));
    desk.commit(
        (1..=4).flat_map(|n| [changed(act(n * 100)), changed(login(n.unsigned_abs().into(), n * 100))]),
    );
    desk.prune(&before(300));
    let mut desk = desk.reopen(fixture);
    assert_eq!(acts(&desk), [400, 300]);
    assert_eq!(logins(&mut desk), [login(3, 300), login(4, 400)]);
    // The last one stays, whatever became of it: numbers go on from there.
    assert_eq!((users(&desk), api_keys(&desk, None)), (vec![user(1)], keys[1..].to_vec()));
}

fn a_batch_of_accounts_that_cannot_be_kept_leaves_no_trace(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let changes = vec![changed(user(1)), changed(login(1, 10)), changed(api_key(1, 1)), changed(act(1))];
    // A feed with a hole in it is refused.
    let batch = Batch { changes, feed: vec![entry(1), entry(3)], ..Batch::default() };
    assert!(desk.try_commit(&batch).is_err());
    let mut desk = desk.reopen(fixture);
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    assert_eq!((users(&desk), api_keys(&desk, None), acts(&desk)), (vec![], vec![], vec![]));
}
