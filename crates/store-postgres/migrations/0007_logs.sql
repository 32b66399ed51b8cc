-- Q12: the lines of a task's log stand in its row, each a JSON array and a comma: the kind, the number of the line, the
-- attempt, the moment, and the message if there is one. A write appends to them. `execution_logs` shows each as a row.

ALTER TABLE task_devices ADD COLUMN logs TEXT COLLATE "C" NOT NULL DEFAULT '';

-- In a message a backslash is written \u005c, so that \u0000 is always a NUL. PostgreSQL's texts have U+F8FF and 0 for
-- it. A line without its task was never written by any version; if there is one, it is dropped.
UPDATE task_devices d SET logs = l.lines
FROM (
    SELECT task_device_id, string_agg(
        '[' || CAST(to_json(event_type) AS TEXT) || ',' || seq || ',' || attempt_no || ',' || at
            || coalesce(',' || replace(replace(CAST(to_json(message) AS TEXT), '\\', '\u005c'), chr(63743) || '0', '\u0000'), '')
            || '],',
        '' ORDER BY seq) AS lines
    FROM execution_logs GROUP BY task_device_id
) AS l
WHERE l.task_device_id = d.id;

DROP TABLE execution_logs;

CREATE VIEW execution_logs AS
SELECT
    d.id AS task_device_id,
    CAST(l.line ->> 1 AS BIGINT) AS seq,
    CAST(l.line ->> 2 AS BIGINT) AS attempt_no,
    (l.line ->> 0) COLLATE "C" AS event_type,
    (CASE l.line ->> 0
        WHEN 'RETRY_SCHEDULED' THEN 'warn'
        WHEN 'FAILED' THEN 'error'
        WHEN 'TIMEOUT' THEN 'error'
        WHEN 'FAILED_FINAL' THEN 'error'
        ELSE 'info'
    END) COLLATE "C" AS level,
    (l.line ->> 4) COLLATE "C" AS message,
    CAST(l.line ->> 3 AS BIGINT) AS at
FROM task_devices d
CROSS JOIN LATERAL json_array_elements(
    CAST('[' || replace(rtrim(d.logs, ','), '\u0000', chr(63743) || '0') || ']' AS JSON)
) AS l (line);

-- It was written with every event, and read only to delete old ids. Now these are found by walking along the key.
DROP INDEX event_ids_oldest;
