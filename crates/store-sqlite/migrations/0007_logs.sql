-- Q12: the lines of a task's log stand in its row, each a JSON array and a comma: the kind, the number of the line, the
-- attempt, the moment, and the message if there is one. A write appends to them. `execution_logs` shows each as a row.

ALTER TABLE task_devices ADD COLUMN logs TEXT NOT NULL DEFAULT '';

-- In a message a backslash is written \u005c, so that \u0000 is always a NUL. A line without its task was never written
-- by any version; if there is one, it is dropped.
UPDATE task_devices SET logs = coalesce((
    SELECT group_concat(
        '[' || json_quote(l.event_type) || ',' || l.seq || ',' || l.attempt_no || ',' || l.at
            || coalesce(',' || replace(json_quote(l.message), '\\', '\u005c'), '') || '],',
        '' ORDER BY l.seq)
    FROM execution_logs l WHERE l.task_device_id = task_devices.id
), '');

DROP TABLE execution_logs;

CREATE VIEW execution_logs AS
SELECT
    d.id AS task_device_id,
    json_extract(l.value, '$[1]') AS seq,
    json_extract(l.value, '$[2]') AS attempt_no,
    json_extract(l.value, '$[0]') AS event_type,
    CASE json_extract(l.value, '$[0]')
        WHEN 'RETRY_SCHEDULED' THEN 'warn'
        WHEN 'FAILED' THEN 'error'
        WHEN 'TIMEOUT' THEN 'error'
        WHEN 'FAILED_FINAL' THEN 'error'
        ELSE 'info'
    END AS level,
    json_extract(l.value, '$[4]') AS message,
    json_extract(l.value, '$[3]') AS at
FROM task_devices d CROSS JOIN json_each('[' || rtrim(d.logs, ',') || ']') l;

-- It was written with every event, and read only to delete old ids. Now these are found by walking along the key.
DROP INDEX event_ids_oldest;
