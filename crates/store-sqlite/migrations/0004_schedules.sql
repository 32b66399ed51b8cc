-- Schedules (Q17): rows of runs to come. A run says which schedule made it.
-- All moments are milliseconds since the Unix epoch.

ALTER TABLE tasks ADD COLUMN schedule_id TEXT;

-- next_at is the first slot that nothing was done about yet. What can be long stands last.
CREATE TABLE schedules (
    id           TEXT PRIMARY KEY NOT NULL,
    cron         TEXT NOT NULL,
    timezone     TEXT NOT NULL,
    missed       TEXT NOT NULL,
    next_at      INTEGER,
    last_slot    INTEGER,
    last_run_id  TEXT,
    created_at   INTEGER NOT NULL,
    key          TEXT,
    digest       BLOB NOT NULL,
    queue        TEXT NOT NULL,
    max_attempts INTEGER,
    workflow_id  TEXT NOT NULL,
    title        TEXT,
    timeout_ms   INTEGER,
    scope        TEXT NOT NULL,
    params       TEXT NOT NULL
) STRICT;
