-- Who leads (S18). Both tables have one row, always there.

-- What the leader shows of itself. Whoever sees `renewals` stand still for the length of a lease may take its place; no
-- clock is compared. `renewed_at` is for people only. pid and backend_start are of the session that renews: while
-- pg_stat_activity has it, the leader is connected.
CREATE TABLE leader (
    id            BIGINT PRIMARY KEY CHECK (id = 1),
    epoch         BIGINT NOT NULL,
    renewals      BIGINT NOT NULL,
    node          TEXT COLLATE "C",
    address       TEXT COLLATE "C",
    pid           INTEGER,
    backend_start TIMESTAMPTZ,
    renewed_at    TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 10);

INSERT INTO leader (id, epoch, renewals, renewed_at) VALUES (1, 0, 0, now());

-- What every commit passes, in its own transaction: it sets `held` to whether its epoch is this one, and one that is
-- older breaks the constraint. `commits` counts them, `now_ms` is the latest moment that any of them spoke of.
CREATE TABLE fence (
    id      BIGINT PRIMARY KEY CHECK (id = 1),
    epoch   BIGINT NOT NULL,
    commits BIGINT NOT NULL,
    now_ms  BIGINT NOT NULL,
    held    BOOLEAN NOT NULL CONSTRAINT fence_held CHECK (held)
) WITH (fillfactor = 10);

INSERT INTO fence (id, epoch, commits, now_ms, held) VALUES (1, 0, 0, 0, true);

-- What all servers must know alike and nobody else may.
CREATE TABLE server_secrets (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);
