//! Accounts and schedules (Q17).

use super::samples::{changed, job, job_id, name, payload};
use crate::{
    Batch, Loaded,
    conformance::{
        desk::{Desk, EMPTY, before, read_all},
        loaded, named,
    },
};
use muster_model::{
    AccountChange, Actor, ApiKeyRecord, AuditRecord, Change, Digest, JobPayload, JobRecord, LoginRecord,
    Missed, Role, Roles, ScheduleDraft, ScheduleId, ScheduleRecord, Scope, Submission, SubmissionKey,
    Timestamp, UserId, UserRecord,
};

named![
    users_are_read_as_written,
    keys_for_programs_are_read_as_written,
    privileged_acts_come_newest_first_in_pages,
    rows_of_accounts_are_replaced,
    accounts_are_handed_over_in_order,
    a_login_that_is_gone_is_loaded_no_more,
    keys_for_programs_are_filtered,
    old_acts_and_logins_go_and_nothing_else,
    a_batch_of_accounts_that_cannot_be_kept_leaves_no_trace,
    schedules_are_read_as_written,
    schedules_are_replaced_and_deleted,
    schedules_are_loaded_last,
    schedules_come_in_pages,
    schedules_are_never_too_old,
    a_slot_and_its_job_are_kept_together,
];

pub(super) fn user(id: u64) -> UserRecord {
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

pub(super) fn api_key(id: u64, user: u64) -> ApiKeyRecord {
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

pub(super) fn act(at: i64) -> AuditRecord {
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
fn users_are_read_as_written(desk: &mut Desk) {
    let all = UserRecord { roles: Role::ALL.into_iter().collect(), ..user(2) };
    let none = UserRecord { roles: Roles::NONE, active: false, ..user(3) };
    let expected = [user(1), all, none, user(10)];
    desk.commit(expected.iter().rev().cloned().map(changed));
    desk.reopen();
    assert_eq!(users(desk), expected);
    let passwords: Vec<_> = users(desk).into_iter().map(|user| user.password_hash).collect();
    assert_eq!(passwords, [(); 4].map(|()| user(1).password_hash));
}

/// P13: those that were taken back are listed too.
fn keys_for_programs_are_read_as_written(desk: &mut Desk) {
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
    desk.reopen();
    assert_eq!(api_keys(desk, None), expected);
}

fn privileged_acts_come_newest_first_in_pages(desk: &mut Desk) {
    // Several of one moment come in the order they were done.
    let other = AuditRecord { actor: Actor { user: UserId(9), name: "아".into(), reason: None }, ..act(2) };
    let done = [act(1), act(2), other, act(2), act(9)];
    desk.commit(done[..2].iter().cloned().map(changed));
    desk.commit(done[2..].iter().cloned().map(changed));
    desk.reopen();
    for size in [1, 2, 3, 7] {
        let read = read_all(size, |page| desk.reader().audit(page));
        assert_eq!(read, done.iter().rev().cloned().collect::<Vec<_>>());
    }
}

fn rows_of_accounts_are_replaced(desk: &mut Desk) {
    let disabled = UserRecord { active: false, password_hash: "other".into(), ..user(1) };
    let renamed = ApiKeyRecord { name: "b".into(), revoked_at: Some(Timestamp(9)), ..api_key(1, 1) };
    let refreshed = LoginRecord { generation: 2, ..login(5, 900) };
    desk.commit([changed(user(1)), changed(api_key(1, 1)), changed(login(5, 10))]);
    desk.commit([changed(user(1)), changed(disabled.clone()), changed(renamed.clone()), changed(refreshed)]);
    assert_eq!(users(desk), [disabled]);
    assert_eq!(api_keys(desk, None), [renamed]);
    assert_eq!(logins(desk), [refreshed]);
}

/// Records of accounts that are loaded.
fn accounts(desk: &mut Desk) -> Vec<AccountChange> {
    loaded!(desk, Loaded::Accounts(change) => change)
}

fn logins(desk: &mut Desk) -> Vec<LoginRecord> {
    let logins = accounts(desk).into_iter().filter_map(|change| match change {
        AccountChange::Login(login) => Some(login),
        _ => None,
    });
    logins.collect()
}

/// Keys that were taken back too: numbering goes on after them.
fn accounts_are_handed_over_in_order(desk: &mut Desk) {
    let revoked = ApiKeyRecord { revoked_at: Some(Timestamp(2)), ..api_key(10, 1) };
    desk.commit([changed(revoked.clone()), changed(api_key(9, 1)), changed(act(1))]);
    desk.commit([changed(login(u128::MAX, 10)), changed(login(1, 10)), changed(user(10)), changed(user(9))]);
    desk.reopen();
    let expected = [
        AccountChange::User(Box::new(user(9))),
        AccountChange::User(Box::new(user(10))),
        AccountChange::Login(login(1, 10)),
        AccountChange::Login(login(u128::MAX, 10)),
        AccountChange::ApiKey(Box::new(api_key(9, 1))),
        AccountChange::ApiKey(Box::new(revoked)),
    ];
    assert_eq!(accounts(desk), expected);
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
fn a_login_that_is_gone_is_loaded_no_more(desk: &mut Desk) {
    let gone = |id| Change::Accounts(AccountChange::LoginGone(id));
    desk.commit([changed(login(1, 10)), changed(login(2, 10)), changed(login(3, 10)), gone(2)]);
    desk.commit([gone(1), gone(9)]);
    desk.reopen();
    assert_eq!(logins(desk), [login(3, 10)]);
    desk.commit([gone(3), changed(login(3, 20))]);
    assert_eq!(logins(desk), [login(3, 20)]);
}

fn keys_for_programs_are_filtered(desk: &mut Desk) {
    desk.commit((1..=6).map(|id| changed(api_key(id, id % 2))));
    let ids = |user| api_keys(desk, Some(user)).iter().map(|key| key.id).collect::<Vec<_>>();
    assert_eq!([0, 1, 2].map(ids), [vec![2, 4, 6], vec![1, 3, 5], vec![]]);
}

fn old_acts_and_logins_go_and_nothing_else(desk: &mut Desk) {
    let revoked = |id, at| ApiKeyRecord { revoked_at: Some(Timestamp(at)), ..api_key(id, 1) };
    let keys = [revoked(1, 2), api_key(2, 1), revoked(3, 300), revoked(4, 2)];
    desk.commit([changed(user(1))]);
    desk.commit(keys.clone().map(changed));
    desk.commit(
        (1..=4).flat_map(|n| [changed(act(n * 100)), changed(login(n.unsigned_abs().into(), n * 100))]),
    );
    desk.prune(&before(300));
    desk.reopen();
    assert_eq!(acts(desk), [400, 300]);
    assert_eq!(logins(desk), [login(3, 300), login(4, 400)]);
    // The last one stays, whatever became of it: numbers go on from there.
    assert_eq!((users(desk), api_keys(desk, None)), (vec![user(1)], keys[1..].to_vec()));
}

fn a_batch_of_accounts_that_cannot_be_kept_leaves_no_trace(desk: &mut Desk) {
    let changes = vec![changed(user(1)), changed(login(1, 10)), changed(api_key(1, 1)), changed(act(1))];
    desk.refuse(Batch { changes, ..Batch::default() });
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    assert_eq!((users(desk), api_keys(desk, None), acts(desk)), (vec![], vec![], vec![]));
}

fn id(number: u128) -> ScheduleId {
    ScheduleId(number << 64 | 7)
}

pub(super) fn schedule(number: u128) -> ScheduleRecord {
    let run = Submission {
        key: None,
        digest: Digest(u128::MAX - 1),
        queue: name("default"),
        scope: Scope::All,
        max_attempts: None,
        payload: JobPayload { title: None, timeout: None, schedule: None, ..payload() },
    };
    ScheduleRecord {
        id: id(number),
        draft: ScheduleDraft {
            cron: "0 6 * * MON-FRI".into(),
            timezone: "Asia/Seoul".into(),
            missed: Missed::Skip,
            next_at: Some(Timestamp(60_000)),
            run,
        },
        last_slot: None,
        last_job: None,
        created_at: Timestamp(1),
    }
}

/// One with everything in it.
fn full(number: u128) -> ScheduleRecord {
    let mut full = schedule(number);
    full.draft.missed = Missed::Once;
    full.draft.next_at = None;
    full.draft.run.key = Some(SubmissionKey::new("밤 'k'").expect("a key"));
    full.draft.run.scope = Scope::Devices([name("a"), name("기기 7")].into());
    full.draft.run.max_attempts = Some(9);
    full.draft.run.payload = JobPayload { schedule: None, ..payload() };
    ScheduleRecord { last_slot: Some(Timestamp(5)), last_job: Some(job_id(3)), ..full }
}

fn listed(desk: &Desk) -> Vec<ScheduleRecord> {
    read_all(2, |page| desk.reader().schedules(page))
}

fn loaded(desk: &mut Desk) -> Vec<ScheduleRecord> {
    loaded!(desk, Loaded::Schedule(schedule) => *schedule)
}

fn schedules_are_read_as_written(desk: &mut Desk) {
    let expected = [schedule(1), full(2), schedule(3)];
    desk.commit(expected.iter().rev().cloned().map(changed));
    desk.reopen();
    assert_eq!(listed(desk), expected);
    assert_eq!(loaded(desk), expected);
    assert_eq!(desk.reader().schedule(id(2)).expect("it is read"), Some(full(2)));
    assert_eq!(desk.reader().schedule(id(9)).expect("it is read"), None);
}

fn schedules_are_replaced_and_deleted(desk: &mut Desk) {
    let gone = |number| Change::ScheduleGone(id(number));
    desk.commit([changed(schedule(1)), changed(schedule(2)), changed(full(1)), gone(2), gone(9)]);
    desk.commit([changed(schedule(3))]);
    desk.reopen();
    assert_eq!(loaded(desk), [full(1), schedule(3)]);
    desk.commit([gone(3), changed(full(3)), gone(1)]);
    assert_eq!((loaded(desk), listed(desk)), (vec![full(3)], vec![full(3)]));
}

fn schedules_are_loaded_last(desk: &mut Desk) {
    desk.commit([changed(schedule(1)), changed(job(1))]);
    assert!(matches!(desk.load().last(), Some(Loaded::Schedule(last)) if **last == schedule(1)));
}

fn schedules_come_in_pages(desk: &mut Desk) {
    desk.commit((1..=5).map(|number| changed(schedule(number))));
    for size in [1, 2, 5, 9] {
        let read = read_all(size, |page| desk.reader().schedules(page));
        assert_eq!(read, (1..=5).map(schedule).collect::<Vec<_>>());
    }
}

fn schedules_are_never_too_old(desk: &mut Desk) {
    desk.commit([changed(schedule(1))]);
    desk.prune(&before(1_000_000));
    assert_eq!(listed(desk), [schedule(1)]);
}

/// Q17: a crash between the two would fire a slot twice, or lose it.
fn a_slot_and_its_job_are_kept_together(desk: &mut Desk) {
    let made = JobRecord { payload: Some(JobPayload { schedule: Some(id(1)), ..payload() }), ..job(3) };
    let changes = vec![changed(full(1)), changed(made.clone())];
    desk.refuse(Batch { changes: changes.clone(), ..Batch::default() });
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    desk.feed([1], changes);
    assert_eq!(desk.reader().job(made.id).expect("it is read"), Some(made));
    assert_eq!(loaded(desk), [full(1)]);
}
