-- Schedules (Q17): rows of runs to come.
-- All moments are milliseconds since the Unix epoch.

-- next_at is the first slot that nothing was done about yet. What can be long stands last.
CREATE TABLE schedules (
    id           TEXT COLLATE "C" PRIMARY KEY,
    cron         TEXT COLLATE "C" NOT NULL,
    timezone     TEXT COLLATE "C" NOT NULL,
    missed       TEXT COLLATE "C" NOT NULL,
    next_at      BIGINT,
    last_slot    BIGINT,
    last_run_id  TEXT COLLATE "C",
    created_at   BIGINT NOT NULL,
    key          TEXT COLLATE "C",
    digest       BYTEA NOT NULL,
    queue        TEXT COLLATE "C" NOT NULL,
    max_attempts BIGINT,
    workflow_id  TEXT COLLATE "C" NOT NULL,
    title        TEXT COLLATE "C",
    timeout_ms   BIGINT,
    scope        TEXT COLLATE "C" NOT NULL,
    params       TEXT COLLATE "C" NOT NULL
);
