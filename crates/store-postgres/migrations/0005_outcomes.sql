-- What became of runs, of sessions and of those who work for them. All moments are milliseconds since the Unix epoch.

-- N5: the id of an event is its key; the subject (its type and the task or run it is about) tells a repeat from a mistake.
-- Rows of version 4 keep a digest of 16 bytes here, which tells nothing about the subject: such an id counts as a repeat.
ALTER TABLE event_ids RENAME COLUMN digest TO subject;

-- Q7b: open, complete, partial, failed or cancelled.
ALTER TABLE tasks ADD COLUMN outcome TEXT COLLATE "C" NOT NULL DEFAULT 'open';

UPDATE tasks SET outcome = CASE status
    WHEN 'success' THEN CASE WHEN EXISTS (
            SELECT 1 FROM task_devices d
            WHERE d.id > tasks.id || '.' AND d.id < tasks.id || '/' AND d.status <> 'completed'
        ) THEN 'partial' ELSE 'complete' END
    WHEN 'failed' THEN 'failed'
    WHEN 'cancelled' THEN 'cancelled'
    ELSE 'open'
END;

-- N8c: since when the heartbeat of an online PC is missing.
ALTER TABLE pcs ADD COLUMN heartbeat_late_since BIGINT;

-- S26b: losses are counted beside failures; a range is halved by either. Frames that were given up or skipped.
ALTER TABLE sim_tasks ADD COLUMN losses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sim_sessions ADD COLUMN failed_frames BIGINT NOT NULL DEFAULT 0;

-- S8, S26b: the losses of a worker, and when it last completed a range.
ALTER TABLE sim_workers ADD COLUMN losses TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE sim_workers ADD COLUMN last_completed_at BIGINT;

-- S6: waiting, known or silent, and the sessions a removed worker held ranges of, as a JSON list.
ALTER TABLE sim_workers ADD COLUMN removal TEXT COLLATE "C";
ALTER TABLE sim_workers ADD COLUMN removed_from TEXT COLLATE "C" NOT NULL DEFAULT '[]';

-- Version 4 waited for no answer of a removed worker. None is waited for now: it may be long gone.
UPDATE sim_workers SET removal = 'known' WHERE state = 'Removed';

-- S20b: what a line of the diagnostics log tells of.
ALTER TABLE sim_diagnostics ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT 'message';
