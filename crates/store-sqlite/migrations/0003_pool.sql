-- Accounts and the pool: names and values of these tables are contracts I and P.
-- All moments are milliseconds since the Unix epoch.

INSERT INTO meta (key, value) VALUES ('pool_next_worker', 1), ('pool_next_job', 1), ('pool_oldest_open', 1);

-- Roles are words with a space between.
CREATE TABLE users (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    roles         TEXT NOT NULL,
    active        INTEGER NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE logins (
    id         BLOB PRIMARY KEY NOT NULL,
    user_id    INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX logins_oldest ON logins (expires_at);

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY,
    user_id      INTEGER NOT NULL,
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         BLOB NOT NULL,
    scopes       TEXT,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;

CREATE INDEX api_keys_of_user ON api_keys (user_id);

CREATE TABLE audit_log (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    user_id   INTEGER NOT NULL,
    user_name TEXT NOT NULL,
    action    TEXT NOT NULL,
    subject   TEXT NOT NULL
) STRICT;

-- specs_json is what the owner said; specs is how this program understood it, in a form of its own.
CREATE TABLE workers (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    owner_user_id INTEGER NOT NULL,
    status        TEXT NOT NULL,
    region        TEXT,
    specs_json    TEXT,
    specs         TEXT,
    public_key    TEXT,
    slots         INTEGER NOT NULL,
    draining      INTEGER NOT NULL,
    ban_reason    TEXT,
    agreements    INTEGER NOT NULL,
    dissents      INTEGER NOT NULL,
    last_seen_at  INTEGER,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX workers_of_owner ON workers (owner_user_id);

-- The three tables of jobs are appended to in the order of their ids and have hardly an index besides: every one would
-- cost a good part of the rate at which jobs are taken. What can be long stands last, so that it is not read with
-- what stands before it. requires is what the client said; demands is how this program understood it.
CREATE TABLE pool_jobs (
    id                 INTEGER PRIMARY KEY,
    client_user_id     INTEGER NOT NULL,
    priority           INTEGER NOT NULL,
    max_attempts       INTEGER NOT NULL,
    asked_attempts     INTEGER,
    timeout_ms         INTEGER,
    verify_output_hash INTEGER NOT NULL,
    redundancy         INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    region             TEXT,
    demands            TEXT,
    requires           TEXT,
    payload            TEXT NOT NULL
) STRICT;

-- The rowid is part of it: a client's jobs, newest first, without looking at anybody else's.
CREATE INDEX pool_jobs_of_client ON pool_jobs (client_user_id);

-- The id is 64 times the job's, and the how manieth of the job it is: those of a job are one range of the
-- primary key. A row with a signature has a result; its nonce is the assignment's.
CREATE TABLE pool_assignments (
    id            INTEGER PRIMARY KEY,
    worker_id     INTEGER NOT NULL,
    owner_user_id INTEGER NOT NULL,
    nonce         BLOB NOT NULL,
    state         TEXT NOT NULL,
    granted_at    INTEGER NOT NULL,
    timeout_at    INTEGER,
    finished_at   INTEGER,
    body_sha256   BLOB,
    output_hash   TEXT,
    hash_matches  INTEGER,
    signature     TEXT,
    public_key    TEXT,
    error_message TEXT,
    artifact_uri  TEXT,
    metrics_json  TEXT,
    output        TEXT
) STRICT;

-- A job without a row here is open.
CREATE TABLE pool_ends (
    id             INTEGER PRIMARY KEY,
    client_user_id INTEGER NOT NULL,
    status         TEXT NOT NULL,
    assignment_id  INTEGER,
    error          TEXT,
    finished_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE pool_keys (
    client_user_id INTEGER NOT NULL,
    key            TEXT NOT NULL,
    digest         BLOB NOT NULL,
    first_job      INTEGER NOT NULL,
    count          INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    PRIMARY KEY (client_user_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX pool_keys_oldest ON pool_keys (at);
