-- Sessions of frames: names and values of these tables are contract S.
-- All moments are milliseconds since the Unix epoch. Ranges of frames and of ids do not include their end.

INSERT INTO meta (key, value) VALUES ('session_seq', 0);

-- What is known about all sessions together: one row, always there.
CREATE TABLE sim_farm (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    paused        INTEGER NOT NULL,
    next_chunk_id INTEGER NOT NULL,
    next_id       INTEGER NOT NULL
) STRICT;

INSERT INTO sim_farm (id, paused, next_chunk_id, next_id) VALUES (1, 0, 1, 1);

CREATE TABLE sim_workers (
    id                TEXT PRIMARY KEY NOT NULL,
    state             TEXT NOT NULL,
    state_since       INTEGER NOT NULL,
    token_sha256      BLOB NOT NULL,
    endpoint          TEXT,
    slots             INTEGER NOT NULL,
    failures          TEXT NOT NULL,
    registered_at     INTEGER NOT NULL,
    last_heartbeat_at INTEGER,
    description       TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE sim_transitions (
    id         INTEGER PRIMARY KEY,
    worker_id  TEXT NOT NULL,
    from_state TEXT NOT NULL,
    to_state   TEXT NOT NULL,
    cause      TEXT NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

CREATE INDEX sim_transitions_of_worker ON sim_transitions (worker_id);

CREATE TABLE sim_sessions (
    id               TEXT PRIMARY KEY NOT NULL,
    seq              INTEGER NOT NULL,
    status           TEXT NOT NULL,
    total_frames     INTEGER NOT NULL,
    frames_per_task  INTEGER NOT NULL,
    strict           INTEGER NOT NULL,
    output_directory TEXT NOT NULL,
    digest           BLOB NOT NULL,
    completed_frames INTEGER NOT NULL,
    open             INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    ended_at         INTEGER,
    error            TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX sim_sessions_open ON sim_sessions (seq) WHERE open = 1;
CREATE INDEX sim_sessions_newest ON sim_sessions (seq);
CREATE INDEX sim_sessions_closed ON sim_sessions (ended_at) WHERE open = 0;

-- The message a session was submitted with. Not a column beside the others: those change with every range
-- that is done, and SQLite writes a row as a whole.
CREATE TABLE sim_session_bodies (
    session_id TEXT PRIMARY KEY NOT NULL,
    body       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The rows of a session are one range of the primary key, so no index is needed to find them.
CREATE TABLE sim_tasks (
    session_id     TEXT NOT NULL,
    start_frame    INTEGER NOT NULL,
    task_id        TEXT GENERATED ALWAYS AS (printf('%s.%08d', session_id, start_frame)) VIRTUAL,
    end_frame      INTEGER NOT NULL,
    status         TEXT NOT NULL,
    attempt        INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    losers         TEXT NOT NULL,
    worker_id      TEXT NOT NULL,
    chunk_id       INTEGER NOT NULL,
    id_start       INTEGER NOT NULL,
    id_end         INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    granted_at     INTEGER NOT NULL,
    confirmed_at   INTEGER,
    ended_at       INTEGER,
    dropped_frames INTEGER NOT NULL,
    digest         BLOB,
    error          TEXT,
    result         TEXT,
    PRIMARY KEY (session_id, start_frame)
) STRICT, WITHOUT ROWID;

CREATE TABLE sim_chunks (
    chunk_id    INTEGER PRIMARY KEY,
    id_start    INTEGER NOT NULL,
    id_end      INTEGER NOT NULL,
    session_id  TEXT NOT NULL,
    start_frame INTEGER NOT NULL,
    task_id     TEXT GENERATED ALWAYS AS (printf('%s.%08d', session_id, start_frame)) VIRTUAL,
    worker_id   TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT,
    at          INTEGER NOT NULL
) STRICT;

-- Written once for each grant, next to its neighbours, and never again: a grant stays with its session.
CREATE INDEX sim_chunks_of_session ON sim_chunks (session_id);

CREATE TABLE sim_replays (
    session_id       TEXT NOT NULL,
    new_chunk_id     INTEGER NOT NULL,
    start_frame      INTEGER NOT NULL,
    end_frame        INTEGER NOT NULL,
    retired_chunk_id INTEGER NOT NULL,
    at               INTEGER NOT NULL,
    PRIMARY KEY (session_id, new_chunk_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sim_quarantine (
    id               TEXT PRIMARY KEY NOT NULL,
    session_id       TEXT NOT NULL,
    output_directory TEXT NOT NULL,
    worker_id        TEXT NOT NULL,
    moved            INTEGER NOT NULL,
    files            INTEGER NOT NULL,
    confirmed        TEXT,
    at               INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sim_quarantine_newest ON sim_quarantine (at);
CREATE INDEX sim_quarantine_unmoved ON sim_quarantine (at) WHERE moved = 0;
CREATE INDEX sim_quarantine_confirmed ON sim_quarantine (at) WHERE confirmed IS NOT NULL;

CREATE TABLE sim_diagnostics (
    id         INTEGER PRIMARY KEY,
    worker_id  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    task_id    TEXT,
    text       TEXT NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

CREATE INDEX sim_diagnostics_of_worker ON sim_diagnostics (worker_id);
CREATE INDEX sim_diagnostics_of_session ON sim_diagnostics (session_id);
