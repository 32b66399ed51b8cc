// Works rows off with the real supabase-js, unchanged, and prints what became of them as one line of JSON.
//
// MUSTER_URL and MUSTER_NODE_SECRET say where and as whom. The scene: PC-01 has four devices, each of which a run
// waits for, with two attempts each.
import assert from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";

const { MUSTER_URL: url, MUSTER_NODE_SECRET: secret } = process.env;
// Nobody logs in here, so there is no session to keep or refresh.
const auth = { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false };
const client = createClient(url, secret, { auth });
// Every row claimed anew, and the attempt of each that was worked on.
const claimed = [];
const seen = new Map();

const [first, second, third] = await claims();
await renews(first);
await completes(first);
await fails(second);
await isRefused(first);
await timesOut(third);
await isShutOut();
console.log(JSON.stringify({ completed: first.id, failed: second.id, timedOut: third.id }));

async function claims() {
  const one = await call("claim_task_devices_for_pc", { runner_pc_name: "PC-01" });
  assert.equal(one.length, 1);
  const two = await call("claim_task_devices_for_pc", {
    runner_pc_id: "PC-01",
    max_to_claim: 2,
    lease_minutes: 0.005,
  });
  assert.equal(two.length, 2);
  const rows = [...one, ...two];
  for (const row of rows) {
    assert.equal(row.status, "running");
    assert.equal(row.attempt, 1);
    assert.deepEqual(row.config, { greeting: "grüß dich" });
    assert.ok(new Date(row.lease_expires_at) > new Date(row.started_at), row.lease_expires_at);
  }
  assert.deepEqual(await call("claim_task_devices_for_pc", { runner_pc_name: "PC-77" }), []);
  return rows;
}

async function renews(row) {
  const lease = { task_device_id: row.id, lease_minutes: 10 };
  assert.equal(await call("renew_task_device_lease", { ...lease, runner_pc_id: "PC-01" }), true);
  assert.equal(await call("renew_task_device_lease", { ...lease, runner_pc_id: "PC-77" }), false);
}

async function completes(row) {
  const result = { screenshots: ["a.png"], seconds: 1.5, note: null };
  const { data, error } = await client
    .rpc("complete_task_device", { p_task_device_id: row.id, p_result: result })
    .single();
  assert.equal(error, null);
  assert.equal(data.status, "completed");
  assert.deepEqual(data.result, result);
  assert.ok(!Number.isNaN(Date.parse(data.completed_at)));
}

async function fails(row) {
  // Its lease was short on purpose for the other one; whichever attempt is out now fails, twice in all.
  let current = await prolonged(row);
  while (current.attempt < current.max_attempts) {
    const again = await call("fail_or_retry_task_device", { p_task_device_id: row.id, p_error: "no screen" });
    assert.equal(again.status, "pending");
    assert.equal(again.error, "no screen");
    current = await claimedAgain(row);
  }
  const last = await call("fail_or_retry_task_device", { p_task_device_id: row.id, p_error: "still none" });
  assert.equal(last.status, "failed");
  assert.equal(last.error, "still none");
}

async function isRefused(row) {
  const again = await client.rpc("complete_task_device", { p_task_device_id: row.id });
  assert.equal(again.status, 409);
  assert.equal(again.data, null);
  assert.equal(again.error.code, "55000");
  assert.match(again.error.message, /completed/);
  assert.equal(again.error.hint, null);
  const unknown = await client.rpc("no_such_function", {});
  assert.equal(unknown.status, 404);
  assert.equal(typeof unknown.error.message, "string");
  const wrong = await client.rpc("claim_task_devices_for_pc", { runner_pc_name: "PC-01", max_to_claim: -1 });
  assert.equal(wrong.status, 422);
  assert.match(wrong.error.message, /max_to_claim/);
}

async function timesOut(row) {
  const current = await claimedAgain(row);
  assert.equal(current.attempt, 2, "the lease ended and cost a retry");
  const done = await call("complete_task_device", { p_task_device_id: row.id, runner_pc_id: "PC-01" });
  assert.equal(done.status, "completed");
}

async function isShutOut() {
  const stranger = createClient(url, "not-the-secret-of-any-node", { auth });
  const { status, error } = await stranger.rpc("fn_timeout_tasks_and_task_devices", {});
  assert.equal(status, 401);
  assert.equal(typeof error.message, "string");
}

// A row under a lease that lasts, claimed anew if the first one is over.
async function prolonged(row) {
  const lease = { task_device_id: row.id, runner_pc_id: "PC-01", lease_minutes: 10 };
  return (await call("renew_task_device_lease", lease)) ? row : claimedAgain(row);
}

// Claims until that very row comes, as a runner would; the sweep is what ends leases that are over.
async function claimedAgain(row) {
  for (let tries = 0; tries < 600; tries++) {
    const swept = await call("fn_timeout_tasks_and_task_devices");
    assert.equal(typeof swept.tasks, "number");
    assert.equal(typeof swept.task_devices, "number");
    const rows = await call("claim_task_devices_for_pc", { runner_pc_name: "PC-01", max_to_claim: 4 });
    claimed.push(...rows);
    const found = claimed.findLast((other) => other.id === row.id && other.attempt > (seen.get(row.id) ?? 1));
    if (found) {
      seen.set(row.id, found.attempt);
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${row.id} never came again`);
}

async function call(name, args) {
  const { data, error, status } = await client.rpc(name, args);
  assert.equal(error, null, `${name}: ${JSON.stringify(error)}`);
  assert.equal(status, 200);
  return data;
}
