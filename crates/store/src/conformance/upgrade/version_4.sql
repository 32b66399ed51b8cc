-- Rows of schema version 4: at least one in every table, and each state that a later version has to interpret.
-- Both stores take them. Blobs are written as SQLite does; ids that the database counts are left out.

UPDATE meta SET value = 4 WHERE key = 'epoch';
UPDATE meta SET value = 7 WHERE key = 'job_seq';
UPDATE meta SET value = 5 WHERE key = 'session_seq';
UPDATE meta SET value = 4 WHERE key IN ('pool_next_worker', 'pool_next_job');
UPDATE meta SET value = 2 WHERE key = 'pool_oldest_open';

-- Runs 1 to 7: complete, partial by a failure, partial by a skipped device, failed, cancelled, running and waiting.
INSERT INTO tasks (id, seq, queue, status, title, workflow_id, params, timeout_ms, scope, max_attempts, task_count, open,
    created_at, started_at, completed_at, error, schedule_id) VALUES
    ('01890a5d-0000-7000-8000-000000000001', 1, 'default', 'success', '아침 점검', 'w', '{"n": 1}', 60000, '{"all":true}', 3,
        2, 0, 1000, 1001, 1002, NULL, '00000000-0000-0000-0000-000000000009'),
    ('01890a5d-0000-7000-8000-000000000002', 2, 'default', 'success', NULL, 'w', '{}', NULL, '{"all":true}', 3,
        2, 0, 2000, 2001, 2002, NULL, NULL),
    ('01890a5d-0000-7000-8000-000000000003', 3, 'default', 'success', NULL, 'w', '{}', NULL, '{"all":true}', 3,
        2, 0, 3000, 3001, 3002, NULL, NULL),
    ('01890a5d-0000-7000-8000-000000000004', 4, 'default', 'failed', NULL, 'w', '{}', NULL, '{"all":true}', 1,
        1, 0, 4000, 4001, 4002, 'no task completed', NULL),
    ('01890a5d-0000-7000-8000-000000000005', 5, 'default', 'cancelled', NULL, 'w', '{}', NULL, '{"all":true}', 3,
        2, 1, 5000, 5001, 5002, 'not needed', NULL),
    ('01890a5d-0000-7000-8000-000000000006', 6, 'default', 'running', NULL, 'w', '{}', NULL, '{"all":true}', 3,
        2, 1, 6000, 6001, NULL, NULL, NULL),
    ('01890a5d-0000-7000-8000-000000000007', 7, 'default', 'pending', NULL, 'w', '{}', NULL, '{"all":true}', 3,
        0, 1, 7000, NULL, NULL, NULL, NULL);

INSERT INTO task_devices (id, task_id, pc_id, device_id, status, attempt, max_attempts, error, result, config, lease_token,
    lease_kind, lease_expires_at, created_at, started_at, confirmed_at, timeout_at, completed_at, timed_out, log_count) VALUES
    ('01890a5d-0000-7000-8000-000000000001.0000001', '01890a5d-0000-7000-8000-000000000001', 'PC-01', 'd-1', 'completed',
        1, 3, NULL, '{"ok": true}', NULL, '00000000000000000000000000000011', 'presence', 1500, 1000, 1001, 1001, 1900, 1002, 0, 2),
    ('01890a5d-0000-7000-8000-000000000001.0000002', '01890a5d-0000-7000-8000-000000000001', 'PC-01', 'd-2', 'completed',
        2, 3, NULL, NULL, NULL, '00000000000000000000000000000012', 'claim', 1500, 1000, 1001, 1001, 1900, 1002, 0, 0),
    ('01890a5d-0000-7000-8000-000000000002.0000001', '01890a5d-0000-7000-8000-000000000002', 'PC-01', 'd-1', 'completed',
        1, 3, NULL, NULL, NULL, '00000000000000000000000000000021', 'presence', NULL, 2000, 2001, 2001, NULL, 2002, 0, 0),
    ('01890a5d-0000-7000-8000-000000000002.0000002', '01890a5d-0000-7000-8000-000000000002', 'PC-01', 'd-2', 'failed',
        3, 3, 'adb: device offline', NULL, NULL, '00000000000000000000000000000022', 'presence', NULL, 2000, 2001, 2001, NULL, 2002, 1, 12),
    ('01890a5d-0000-7000-8000-000000000003.0000001', '01890a5d-0000-7000-8000-000000000003', 'PC-01', 'd-1', 'completed',
        1, 3, NULL, NULL, NULL, '00000000000000000000000000000031', 'presence', NULL, 3000, 3001, 3001, NULL, 3002, 0, 0),
    ('01890a5d-0000-7000-8000-000000000003.0000002', '01890a5d-0000-7000-8000-000000000003', 'PC-02', 'd-3', 'cancelled',
        0, 3, 'skipped: device offline', NULL, NULL, '00000000000000000000000000000000', 'presence', NULL, 3000, NULL, NULL, NULL, 3002, 0, 0),
    ('01890a5d-0000-7000-8000-000000000004.0000001', '01890a5d-0000-7000-8000-000000000004', 'PC-01', 'd-1', 'failed',
        1, 1, 'boom', NULL, NULL, '00000000000000000000000000000041', 'presence', NULL, 4000, 4001, 4001, NULL, 4002, 0, 0),
    ('01890a5d-0000-7000-8000-000000000005.0000001', '01890a5d-0000-7000-8000-000000000005', 'PC-01', 'd-1', 'completed',
        1, 3, NULL, NULL, NULL, '00000000000000000000000000000051', 'presence', NULL, 5000, 5001, 5001, NULL, 5002, 0, 0),
    ('01890a5d-0000-7000-8000-000000000005.0000002', '01890a5d-0000-7000-8000-000000000005', 'PC-01', 'd-2', 'running',
        1, 3, NULL, NULL, NULL, '00000000000000000000000000000052', 'presence', 9000, 5000, 5001, 5001, 9000, NULL, 0, 0),
    ('01890a5d-0000-7000-8000-000000000006.0000001', '01890a5d-0000-7000-8000-000000000006', 'PC-01', 'd-1', 'running',
        1, 3, NULL, NULL, NULL, '00000000000000000000000000000061', 'presence', 9000, 6000, 6001, 6001, 9000, NULL, 0, 0),
    ('01890a5d-0000-7000-8000-000000000006.0000002', '01890a5d-0000-7000-8000-000000000006', 'PC-02', 'd-3', 'pending',
        1, 3, 'adb: device offline', NULL, NULL, '00000000000000000000000000000062', 'presence', NULL, 6000, NULL, NULL, NULL, NULL, 0, 0);

INSERT INTO devices VALUES
    ('d-1', 'PC-01', 'ONLINE', '192.168.0.7:5555', 'online', 0, '{"rack": "a"}', NULL, NULL, 900),
    ('d-2', 'PC-01', 'ERROR', '192.168.0.8:5555', 'online', 1, '{}', NULL, 'screen broken', 900),
    ('d-3', 'PC-02', 'OFFLINE', '192.168.0.9:5555', 'offline', 0, '{}', 5500, NULL, 900);

INSERT INTO pcs VALUES
    ('PC-01', 'PC-01', 'online', 900, 20, 0, NULL, 9000, 6500, 900),
    ('PC-02', 'PC-02', 'offline', 5500, NULL, 1, 8000, 5000, 4500, 900);

INSERT INTO execution_logs VALUES
    ('01890a5d-0000-7000-8000-000000000001.0000001', 1, 1, 'SENT', 'info', NULL, 1001),
    ('01890a5d-0000-7000-8000-000000000001.0000001', 2, 1, 'SUCCEEDED', 'info', '끝', 1002),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 12, 3, 'FAILED_FINAL', 'error', NULL, 2012),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 1, 1, 'CREATED', 'info', NULL, 2001),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 2, 1, 'SENT', 'info', NULL, 2002),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 10, 3, 'ACKED', 'info', NULL, 2010),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 3, 1, 'ACKED', 'info', NULL, 2003),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 4, 1, 'FAILED', 'error', 'C:\temp\u0000 "adb", 끝', 2004),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 5, 1, 'RETRY_SCHEDULED', 'warn', NULL, 2005),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 6, 2, 'SENT', 'info', NULL, 2006),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 7, 2, 'TIMEOUT', 'error', 'Task device timeout: exceeded 20 minutes', 2007),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 8, 2, 'RETRY_SCHEDULED', 'warn', NULL, 2008),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 9, 3, 'SENT', 'info', NULL, 2009),
    ('01890a5d-0000-7000-8000-000000000002.0000002', 11, 3, 'FAILED', 'error', '],[
line 2', 2011);

INSERT INTO pc_logs (pc_id, event_type, at) VALUES ('PC-01', 'enrolled', 900), ('PC-02', 'offline', 5500);

INSERT INTO pc_runs VALUES
    ('PC-01', '01890a5d-0000-7000-8000-000000000006', '01890a5d-0000-7000-8000-000000000006.0000001', 0, 0, 0, 1);

INSERT INTO pc_stops VALUES ('PC-01', '01890a5d-0000-7000-8000-000000000005.0000002');

INSERT INTO pc_secrets VALUES ('PC-01', 0, x'0707070707070707070707070707070707070707070707070707070707070707', NULL);

INSERT INTO node_events (event_id, node_id, type, task_id, effect, body, at) VALUES
    ('evt-1', 'PC-01', 'task_finished', '01890a5d-0000-7000-8000-000000000001.0000001', 'applied', '{"event_id": "evt-1"}', 1002),
    ('01890a5d-ac96-774b-bcce-b302099a8057', 'PC-01', 'run_started', NULL, 'stale', '{}', 1003);

-- The key of 'evt-1' and of a UUID, each with a digest of 16 bytes.
INSERT INTO event_ids VALUES
    (x'746576742d31', x'00112233445566778899aabbccddeeff', 1002),
    (x'7501890a5dac96774bbcceb302099a8057', x'ffeeddccbbaa99887766554433221100', 1003);

INSERT INTO idempotency_keys VALUES
    ('night 1', x'00112233445566778899aabbccddeeff', '01890a5d-0000-7000-8000-000000000001', 'pending', 1000);

INSERT INTO alerts VALUES
    ('000000000000000000000000000000a1', 'mass_dropout', 'PC-02', NULL, '12 devices of PC-02 vanished', 5500);

INSERT INTO feed VALUES (1, 1, 1000, '1 2 a {}
'), (2, 2, 2000, '1 2 b {}
1 2 c {}
');

INSERT INTO schedules VALUES
    ('00000000-0000-0000-0000-000000000009', '0 7 * * *', 'Asia/Seoul', 'skip', 90000, 1000,
        '01890a5d-0000-7000-8000-000000000001', 900, 'every morning', x'00112233445566778899aabbccddeeff', 'default', 3, 'w',
        '아침 점검', 60000, '{"all":true}', '{"n": 1}');

-- Sessions: running, paused, completed, failed (its ranges ended with it, the rest was never cut) and cancelled.
UPDATE sim_farm SET paused = 1, next_chunk_id = 20, next_id = 20000 WHERE id = 1;

INSERT INTO sim_workers VALUES
    ('gpu-1', 'Healthy', 900, x'0101010101010101010101010101010101010101010101010101010101010101', 'http://gpu-1:7402', 2,
        '[800,850]', 700, 6500, '{"gpu": "A"}'),
    ('gpu-2', 'Quarantined', 900, x'0202020202020202020202020202020202020202020202020202020202020202', NULL, 1,
        '[]', 700, 6500, NULL),
    ('gpu-3', 'Removed', 900, x'0303030303030303030303030303030303030303030303030303030303030303', 'http://gpu-3:7402', 1,
        '[]', 700, 800, NULL),
    ('gpu-4', 'Lost', 900, x'0404040404040404040404040404040404040404040404040404040404040404', NULL, 1,
        '[]', 700, NULL, NULL);

INSERT INTO sim_transitions (worker_id, from_state, to_state, cause, at) VALUES
    ('gpu-3', 'Healthy', 'Removed', 'removed by an operator', 900);

INSERT INTO sim_sessions VALUES
    ('running', 1, 'running', 300, 100, 0, 'session_running', x'00112233445566778899aabbccddeeff', 100, 1, 1000, NULL, NULL),
    ('paused', 2, 'paused', 100, 100, 1, 'session_paused', x'00112233445566778899aabbccddeeff', 0, 1, 2000, NULL, NULL),
    ('completed', 3, 'completed', 100, 100, 1, 'session_completed', x'00112233445566778899aabbccddeeff', 100, 0, 3000, 3500, NULL),
    ('failed', 4, 'failed', 400, 100, 1, 'session_failed', x'00112233445566778899aabbccddeeff', 100, 0, 4000, 4500,
        'frames [100, 200) failed 5 times, last at gpu-1: boom'),
    ('cancelled', 5, 'cancelled', 100, 100, 1, 'session_cancelled', x'00112233445566778899aabbccddeeff', 0, 0, 5000, 5500, NULL);

INSERT INTO sim_session_bodies VALUES
    ('running', '{"a": 1}'), ('paused', '{}'), ('completed', '{}'), ('failed', '{}'), ('cancelled', '{}');

INSERT INTO sim_tasks (session_id, start_frame, end_frame, status, attempt, failures, losers, worker_id, chunk_id, id_start,
    id_end, created_at, granted_at, confirmed_at, ended_at, dropped_frames, digest, error, result) VALUES
    ('running', 0, 100, 'completed', 1, 0, '[]', 'gpu-1', 1, 1, 1001, 1000, 1000, 1001, 1100, 2,
        x'00112233445566778899aabbccddeeff', NULL, '{"fragment": 1}'),
    ('running', 100, 200, 'running', 3, 2, '["gpu-3","gpu-4"]', 'gpu-1', 2, 1001, 2001, 1000, 1200, 1201, NULL, 0, NULL, 'boom', NULL),
    ('running', 200, 300, 'lost', 1, 1, '["gpu-4"]', 'gpu-4', 3, 2001, 3001, 1000, 1200, 1201, NULL, 0, NULL, NULL, NULL),
    ('paused', 0, 100, 'pending', 1, 1, '["gpu-2"]', 'gpu-2', 4, 3001, 4001, 2000, 2000, NULL, NULL, 0, NULL, NULL, NULL),
    ('completed', 0, 100, 'completed', 1, 0, '[]', 'gpu-1', 5, 4001, 5001, 3000, 3000, 3001, 3400, 0,
        x'00112233445566778899aabbccddeeff', NULL, '{}'),
    ('failed', 0, 100, 'completed', 1, 0, '[]', 'gpu-1', 6, 5001, 6001, 4000, 4000, 4001, 4100, 0,
        x'00112233445566778899aabbccddeeff', NULL, '{}'),
    ('failed', 100, 200, 'cancelled', 5, 5, '["gpu-1"]', 'gpu-1', 7, 6001, 7001, 4000, 4400, 4401, 4500, 0, NULL, 'boom', NULL),
    ('failed', 200, 300, 'cancelled', 1, 0, '[]', 'gpu-1', 8, 7001, 8001, 4000, 4400, 4401, 4500, 0, NULL, NULL, NULL),
    ('cancelled', 0, 100, 'cancelled', 1, 0, '[]', 'gpu-2', 9, 8001, 9001, 5000, 5000, NULL, 5500, 0, NULL, NULL, NULL);

INSERT INTO sim_chunks (chunk_id, id_start, id_end, session_id, start_frame, worker_id, attempt, state, reason, at) VALUES
    (1, 1, 1001, 'running', 0, 'gpu-1', 1, 'used', NULL, 1100),
    (2, 1001, 2001, 'running', 100, 'gpu-1', 3, 'live', NULL, 1200),
    (7, 6001, 7001, 'failed', 100, 'gpu-1', 5, 'retired', 'failed', 4500);

INSERT INTO sim_replays VALUES ('running', 2, 100, 200, 10, 1200);

INSERT INTO sim_quarantine VALUES
    ('chunk-7', 'failed', 'session_failed', 'gpu-1', 1, 3, 'looked at', 4500),
    ('chunk-8', 'failed', 'session_failed', 'gpu-1', 0, 0, NULL, 4500);

INSERT INTO sim_diagnostics (worker_id, session_id, task_id, text, at) VALUES
    ('gpu-1', 'running', 'running.00000100', 'shader 7 is slow', 1300),
    ('gpu-1', 'failed', NULL, 'boom', 4400);

-- Accounts, and the pool: job 1 has ended, job 2 has votes and an open assignment, job 3 waits.
INSERT INTO users VALUES
    (7, 'ann', '$argon2id$', 'WORKER_OWNER', 1, 900), (8, 'client', '$argon2id$', 'CLIENT', 0, 900);

INSERT INTO logins VALUES (x'00000000000000000000000000000005', 7, 1, 90000);

INSERT INTO api_keys VALUES
    (1, 8, 'nightly', 'mk_a', x'0707070707070707070707070707070707070707070707070707070707070707', 'CLIENT', 900, 950, 990);

INSERT INTO audit_log (at, user_id, user_name, action, subject) VALUES (900, 7, 'ann', 'user.create', 'client');

INSERT INTO workers VALUES
    (1, 'w-1', 7, 'online', 'eu', '{"os":"linux"}', '[["os","\"linux\""]]', 'a2V5', 1, 0, NULL, 5, 1, 6500, 900),
    (2, 'w-2', 7, 'banned', NULL, NULL, NULL, NULL, 2, 1, 'wrong results', 0, 9, NULL, 900),
    (3, 'w-3', 8, 'offline', NULL, NULL, NULL, NULL, 1, 0, NULL, 0, 0, 1000, 900);

INSERT INTO pool_jobs VALUES
    (1, 8, 50, 3, NULL, NULL, 1, 1, 1000, NULL, NULL, NULL, '{"a": 1}'),
    (2, 8, 0, 5, 5, 60000, 0, 3, 2000, 'eu', '[["os","\"linux\""]]', '{"os":"linux"}', '{}'),
    (3, 8, 0, 3, NULL, NULL, 0, 1, 3000, NULL, NULL, NULL, '{}');

INSERT INTO pool_assignments VALUES
    (65, 1, 7, x'00000000000000000000000000000065', 'COMPLETED', 1000, NULL, 1100,
        x'0707070707070707070707070707070707070707070707070707070707070707', 'aa', 1, 'c2ln', 'a2V5', NULL, 's3://b/k', '{"s": 1}', '{"a": 1}'),
    (129, 1, 7, x'00000000000000000000000000000129', 'COMPLETED', 2000, NULL, 2100,
        x'0707070707070707070707070707070707070707070707070707070707070707', 'bb', NULL, 'c2ln', 'a2V5', NULL, NULL, NULL, '{}'),
    (130, 3, 8, x'00000000000000000000000000000130', 'FAILED', 2000, NULL, 2100,
        x'0707070707070707070707070707070707070707070707070707070707070707', NULL, NULL, 'c2ln', 'a2V5', 'boom', NULL, NULL, NULL),
    (131, 1, 7, x'00000000000000000000000000000131', 'STARTED', 2200, 9000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

INSERT INTO pool_ends VALUES (1, 8, 'COMPLETED', 65, NULL, 1100);

INSERT INTO pool_keys VALUES (8, 'batch 1', x'00112233445566778899aabbccddeeff', 1, 3, 1000);
