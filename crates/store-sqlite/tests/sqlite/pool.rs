//! The pool's tables in a file that users may read with SQL.

use crate::scene::shell;
use muster_model::{
    AccountChange, ApiKeyRecord, AssignmentId, AssignmentRecord, AssignmentState, Change, Demand, Fence,
    LoginRecord, PoolChange, PoolJobDraft, PoolJobId, PoolJobRecord, PoolResult, PoolWorkerId,
    PoolWorkerRecord, PoolWorkerStatus, Quality, Role, Roles, Scale, Specs, UserId, UserRecord,
};
use muster_store::{Batch, Store, StoreError, conformance::scenes::AT};
use muster_store_sqlite::SqliteStore;
use std::sync::Arc;

/// A worker.
pub(crate) fn crew(id: u64, name: &str) -> Batch {
    let worker = PoolWorkerRecord {
        id: PoolWorkerId(id),
        owner: UserId(7),
        name: name.into(),
        status: PoolWorkerStatus::Online,
        region: None,
        specs: Specs::new(vec![("vram".into(), Quality::Amount(Scale::new(24.0)))]),
        specs_json: Some("{\"vram\":24}".into()),
        public_key: None,
        slots: 1,
        draining: false,
        ban_reason: None,
        agreements: 0,
        dissents: 0,
        last_seen: Some(AT),
        created_at: AT,
    };
    batch([Change::Pool(PoolChange::Worker(Box::new(worker)))])
}

/// An open job with a result, and a user with a login and a key.
pub(crate) fn leased() -> Batch {
    let user = UserRecord {
        id: UserId(7),
        name: "ann".into(),
        password_hash: "$argon2id$".into(),
        roles: Roles::NONE.with(Role::WorkerOwner),
        active: true,
        created_at: AT,
    };
    let key = ApiKeyRecord {
        id: 1,
        user: UserId(7),
        name: "nightly".into(),
        prefix: "mk_a".into(),
        hash: [7; 32],
        scopes: None,
        created_at: AT,
        last_used_at: None,
        revoked_at: None,
    };
    let login = LoginRecord { id: 5, user: UserId(7), generation: 1, expires_at: AT };
    batch([
        Change::Pool(PoolChange::Job(Box::new(job()))),
        Change::Pool(PoolChange::Assignment(Box::new(handed_in()))),
        Change::Accounts(AccountChange::User(Box::new(user))),
        Change::Accounts(AccountChange::Login(login)),
        Change::Accounts(AccountChange::ApiKey(Box::new(key))),
    ])
}

fn batch<const N: usize>(changes: [Change; N]) -> Batch {
    Batch { changes: changes.into(), ..Batch::default() }
}

fn job() -> PoolJobRecord {
    let requires = Specs::new(vec![("vram".into(), Quality::Amount(Scale::new(16.0)))]);
    let draft = PoolJobDraft {
        payload: "{}".into(),
        priority: 50,
        demand: Demand { region: None, requires },
        requires_json: Some("{\"vram\":16}".into()),
        max_attempts: None,
        timeout: None,
        verify_output_hash: false,
        redundancy: 3,
    };
    PoolJobRecord { id: PoolJobId(1), client: UserId(8), max_attempts: 3, draft, created_at: AT }
}

fn handed_in() -> AssignmentRecord {
    let id = AssignmentId::new(PoolJobId(1), 1);
    let result = PoolResult {
        assignment: id,
        nonce: Some(Fence(9)),
        signature: "c2ln".into(),
        public_key: "a2V5".into(),
        output: Some("{\"a\":1}".into()),
        output_hash: Some("abc".into()),
        hash_matches: None,
        vote: None,
        error: None,
        artifact_uri: None,
        metrics: None,
        digest: [1; 32],
        batch: None,
    };
    AssignmentRecord {
        id,
        worker: PoolWorkerId(3),
        owner: UserId(7),
        fence: Fence(9),
        state: AssignmentState::Completed,
        granted_at: AT,
        timeout_at: None,
        ended_at: Some(AT),
        digest: Some(result.digest),
        output_hash: result.output_hash.clone(),
        vote: None,
        result: Some(Arc::new(result)),
    }
}

/// P12: `workers` has `name` and `last_seen_at`, and nothing of the old name is written.
#[test]
fn plain_sql_finds_a_worker_by_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    term.writer.commit(&crew(3, "gpu-3")).unwrap();
    let later = muster_model::Timestamp(AT.0 + 1);
    let pool_sightings = vec![(PoolWorkerId(3), later)];
    term.writer.commit(&Batch { pool_sightings, ..Batch::default() }).unwrap();
    let sql = "SELECT last_seen_at FROM workers WHERE name = 'gpu-3' AND id = 3 AND owner_user_id = 7 \
               AND status = 'online' AND specs_json ->> 'vram' = 24";
    assert_eq!(shell(directory.path()).query_row(sql, [], |row| row.get(0)), Ok(later.0));
    let old = "SELECT count(*) FROM pragma_table_info('workers') WHERE name = 'last_heartbeat_at'";
    assert_eq!(shell(directory.path()).query_row(old, [], |row| row.get(0)), Ok(0));
}

/// P17: what a receipt is made of stands in one row.
#[test]
fn plain_sql_finds_a_result_by_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.begin_term().unwrap().writer.commit(&leased()).unwrap();
    let sql = "SELECT a.id FROM pool_jobs j JOIN pool_assignments a ON a.id >> 6 = j.id WHERE j.client_user_id = 8 \
               AND a.state = 'COMPLETED' AND a.public_key = 'a2V5' AND a.signature = 'c2ln' AND a.output_hash = 'abc' \
               AND hex(a.nonce) = '00000000000000000000000000000009' AND a.output ->> 'a' = 1 AND a.worker_id = 3";
    assert_eq!(shell(directory.path()).query_row(sql, [], |row| row.get(0)), Ok(65));
}

/// P3: were another worker of the same name to be written, the batch would be refused, not the first one lost.
#[test]
fn a_name_belongs_to_one_worker() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let mut term = store.begin_term().unwrap();
    term.writer.commit(&crew(3, "gpu-3")).unwrap();
    assert!(matches!(term.writer.commit(&crew(4, "gpu-3")), Err(StoreError::Backend(_))));
    assert!(store.reader().pool_worker(PoolWorkerId(3)).unwrap().is_some());
    assert_eq!(store.reader().pool_worker(PoolWorkerId(4)).unwrap(), None);
    term.writer.commit(&crew(3, "gpu-3")).unwrap();
}

/// P13: a client's jobs are found among everybody's by the one index there is: every other would cost a good part of
/// the rate at which jobs are taken.
#[test]
fn the_tables_of_jobs_have_one_index() {
    let directory = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(directory.path()).unwrap());
    let sql = "SELECT group_concat(name) FROM sqlite_schema \
               WHERE type = 'index' AND tbl_name IN ('pool_jobs', 'pool_assignments', 'pool_ends')";
    let index = "pool_jobs_of_client".to_owned();
    assert_eq!(shell(directory.path()).query_row(sql, [], |row| row.get(0)), Ok(index));
}
