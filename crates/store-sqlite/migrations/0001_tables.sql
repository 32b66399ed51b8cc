-- Names and values of these tables are contract Q; dashboards read them with plain SQL.
-- All moments are milliseconds since the Unix epoch.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('epoch', 0), ('job_seq', 0);

CREATE TABLE tasks (
    id           TEXT PRIMARY KEY NOT NULL,
    seq          INTEGER NOT NULL,
    queue        TEXT NOT NULL,
    status       TEXT NOT NULL,
    title        TEXT,
    workflow_id  TEXT,
    params       TEXT,
    timeout_ms   INTEGER,
    scope        TEXT NOT NULL,
    max_attempts INTEGER NOT NULL,
    task_count   INTEGER NOT NULL,
    open         INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER,
    error        TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_open ON tasks (seq) WHERE open = 1;
CREATE INDEX tasks_newest ON tasks (seq);
CREATE INDEX tasks_closed ON tasks (completed_at) WHERE open = 0;

-- The id is '<task_id>.<7 digits>': the rows of a run are one range of the primary key, so no
-- index is needed to find them.
CREATE TABLE task_devices (
    id               TEXT PRIMARY KEY NOT NULL,
    task_id          TEXT NOT NULL,
    pc_id            TEXT NOT NULL,
    device_id        TEXT NOT NULL,
    status           TEXT NOT NULL,
    attempt          INTEGER NOT NULL,
    max_attempts     INTEGER NOT NULL,
    error            TEXT,
    result           TEXT,
    config           TEXT,
    lease_token      TEXT NOT NULL,
    lease_kind       TEXT NOT NULL,
    lease_expires_at INTEGER,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    confirmed_at     INTEGER,
    timeout_at       INTEGER,
    completed_at     INTEGER,
    timed_out        INTEGER NOT NULL,
    log_count        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE devices (
    id             TEXT PRIMARY KEY NOT NULL,
    pc_id          TEXT NOT NULL,
    status         TEXT NOT NULL,
    runtime_handle TEXT NOT NULL,
    attachment     TEXT NOT NULL,
    failed         INTEGER NOT NULL,
    labels         TEXT NOT NULL,
    offline_since  INTEGER,
    note           TEXT,
    created_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX devices_of_pc ON devices (pc_id);

CREATE TABLE pcs (
    id           TEXT PRIMARY KEY NOT NULL,
    pc_number    TEXT NOT NULL,
    status       TEXT NOT NULL,
    status_since INTEGER NOT NULL,
    max_devices  INTEGER,
    draining     INTEGER NOT NULL,
    paused_until INTEGER,
    lease_until  INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE execution_logs (
    task_device_id TEXT NOT NULL,
    seq            INTEGER NOT NULL,
    attempt_no     INTEGER NOT NULL,
    event_type     TEXT NOT NULL,
    level          TEXT NOT NULL,
    message        TEXT,
    at             INTEGER NOT NULL,
    PRIMARY KEY (task_device_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE pc_logs (
    id         INTEGER PRIMARY KEY,
    pc_id      TEXT NOT NULL,
    event_type TEXT NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

CREATE INDEX pc_logs_of_pc ON pc_logs (pc_id);

CREATE TABLE pc_runs (
    pc_id                TEXT NOT NULL,
    task_id              TEXT NOT NULL,
    first_task_device_id TEXT NOT NULL,
    finished             INTEGER NOT NULL,
    completed            INTEGER NOT NULL,
    failed               INTEGER NOT NULL,
    failed_attempts      INTEGER NOT NULL,
    PRIMARY KEY (pc_id, task_id)
) STRICT, WITHOUT ROWID;

-- What a PC must still be told to stop.
CREATE TABLE pc_stops (
    pc_id          TEXT NOT NULL,
    task_device_id TEXT NOT NULL,
    PRIMARY KEY (pc_id, task_device_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pc_secrets (
    pc_id       TEXT NOT NULL,
    place       INTEGER NOT NULL,
    sha256      BLOB NOT NULL,
    valid_until INTEGER,
    PRIMARY KEY (pc_id, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE node_events (
    id       INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL,
    node_id  TEXT NOT NULL,
    type     TEXT NOT NULL,
    task_id  TEXT,
    effect   TEXT NOT NULL,
    body     TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;

-- What must be remembered of a report long after its body is gone. The key is 'u' and the 16 bytes of
-- an id that is a UUID, or 't' and the text of any other.
CREATE TABLE event_ids (
    key    BLOB PRIMARY KEY NOT NULL,
    digest BLOB NOT NULL,
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX event_ids_oldest ON event_ids (at);

CREATE TABLE idempotency_keys (
    key     TEXT PRIMARY KEY NOT NULL,
    digest  BLOB NOT NULL,
    task_id TEXT NOT NULL,
    status  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_oldest ON idempotency_keys (at);

CREATE TABLE alerts (
    id      TEXT PRIMARY KEY NOT NULL,
    kind    TEXT NOT NULL,
    pc_id   TEXT NOT NULL,
    task_id TEXT,
    message TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX alerts_newest ON alerts (at);

-- One row per batch: entries first_seq to first_seq + count - 1.
CREATE TABLE feed (
    first_seq INTEGER PRIMARY KEY,
    count     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    body      TEXT NOT NULL
) STRICT;

-- Only a run that is open has running rows, and its rows are one range of the primary key. An index
-- on status would answer faster and cost a quarter of the rate at which rows are written.
CREATE VIEW pc_device_summary AS
WITH
    running AS MATERIALIZED (
        SELECT d.pc_id, d.device_id
        FROM tasks t CROSS JOIN task_devices d
        WHERE t.open = 1 AND d.id > t.id || '.' AND d.id < t.id || '/' AND d.status = 'running'
    ),
    busy AS MATERIALIZED (
        SELECT pc_id, count(*) AS running_count FROM running GROUP BY pc_id
    )
SELECT
    p.id AS pc_id,
    p.pc_number AS pc_number,
    p.status AS pc_status,
    p.max_devices AS max_devices,
    (SELECT count(*) FROM devices d WHERE d.pc_id = p.id) AS device_count,
    coalesce(b.running_count, 0) AS running_count,
    (SELECT count(*) FROM devices d WHERE d.pc_id = p.id AND d.status = 'ONLINE'
        AND d.id NOT IN (SELECT r.device_id FROM running r)) AS idle_count,
    (SELECT count(*) FROM devices d WHERE d.pc_id = p.id AND d.status = 'ERROR') AS error_count,
    (SELECT count(*) FROM devices d WHERE d.pc_id = p.id AND d.status = 'OFFLINE') AS disconnected_count
FROM pcs p LEFT JOIN busy b ON b.pc_id = p.id;
