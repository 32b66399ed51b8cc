// The fleet after a snapshot and entries of the feed is what the server would say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fleet } from '../../assets/js/fleet.js';

const node = (id, devices, more = {}) => ({ node_id: id, status: 'online', draining: false, paused_until: null, max_devices: 20, devices, ...more });

function fleet(...nodes) {
  const made = new Fleet();
  made.takeSnapshot({ seq: 1, nodes });
  return made;
}

const tell = (known, kind, body) => known.apply({ kind, body });
const stateOf = (known, id) => known.devices.get(id)?.state;

/** Counts, tasks and places follow from the devices, whatever happened. */
function check(known) {
  const counts = { idle: 0, running: 0, offline: 0, error: 0 };
  for (const device of known.devices.values()) counts[device.state]++;
  assert.deepEqual(known.counts, counts);
  const shown = [...known.nodes.values()].flatMap(({ devices }) => devices);
  assert.deepEqual(new Set(shown), new Set(known.devices.values()));
  assert.equal(shown.length, known.devices.size);
  for (const { devices } of known.nodes.values()) assert.deepEqual(devices.map(({ place }) => place), devices.map((_, index) => index));
  for (const [task, device] of known.tasks) assert.equal(device.task, task);
}

test('a snapshot is taken as it is, and another begins anew', () => {
  const known = fleet(
    node('A', [['a1', 'idle', null, true], ['a2', 'running', 'r.1', true], ['a3', 'offline', null, false], ['a4', 'error', null, true]]),
    node('B', [['b1', 'offline', null, true]], { status: 'offline', draining: true, paused_until: 8, max_devices: 5 }));
  assert.deepEqual(known.counts, { idle: 1, running: 1, offline: 2, error: 1 });
  assert.equal(known.tasks.get('r.1').id, 'a2');
  const { online, draining, pausedUntil, maxDevices } = known.nodes.get('B');
  assert.deepEqual([online, draining, pausedUntil, maxDevices], [false, true, 8, 5]);
  check(known);
  known.takeSnapshot({ seq: 2, nodes: [node('A', [['a1', 'idle', null, true]])] });
  assert.deepEqual([known.nodes.size, known.devices.size, known.tasks.size], [1, 1, 0]);
  check(known);
});

test('a node that falls silent takes its devices along, and brings back those that are attached', () => {
  const known = fleet(node('A', [['a1', 'idle', null, true], ['a2', 'offline', null, false], ['a3', 'error', null, true]]));
  assert.equal(tell(known, 'worker_offline', { worker: 'A' }), 'node');
  assert.deepEqual(known.counts, { idle: 0, running: 0, offline: 2, error: 1 });
  tell(known, 'worker_online', { worker: 'A' });
  assert.deepEqual(['a1', 'a2', 'a3'].map((id) => stateOf(known, id)), ['idle', 'offline', 'error']);
  check(known);
});

test('of a silent node in the snapshot, only attached devices come back', () => {
  const known = fleet(node('A', [['a1', 'offline', null, true], ['a2', 'offline', null, false]], { status: 'offline' }));
  tell(known, 'worker_online', { worker: 'A' });
  assert.deepEqual(['a1', 'a2'].map((id) => stateOf(known, id)), ['idle', 'offline']);
  check(known);
});

test('a server that does not say what is attached is believed by the states', () => {
  const known = fleet(node('A', [['a1', 'idle', null], ['a2', 'offline', null]]), node('B', [['b1', 'offline', null]], { status: 'offline' }));
  tell(known, 'worker_online', { worker: 'B' });
  assert.deepEqual(['a1', 'a2', 'b1'].map((id) => stateOf(known, id)), ['idle', 'offline', 'idle']);
});

test('a device that fails and is returned while it is absent stays absent', () => {
  const known = fleet(node('A', [['a1', 'idle', null, true], ['a2', 'error', null, false]]));
  assert.equal(tell(known, 'device_offline', { device: 'a1' }).id, 'a1');
  assert.equal(tell(known, 'device_error', { device: 'a1' }).state, 'error');
  assert.equal(tell(known, 'device_returned', { device: 'a1' }).state, 'offline');
  assert.equal(tell(known, 'device_returned', { device: 'a2' }).state, 'offline');
  assert.equal(tell(known, 'device_online', { device: 'a2' }).state, 'idle');
  check(known);
});

test('an entry that changes nothing to be seen names nothing', () => {
  const known = fleet(node('A', [['a1', 'error', null, true]]));
  assert.equal(tell(known, 'device_offline', { device: 'a1' }), null);
  assert.equal(tell(known, 'device_online', { device: 'zz' }), null);
  assert.equal(tell(known, 'worker_offline', { worker: 'Z' }), null);
  assert.equal(tell(known, 'run_created', { job: 'r' }), null);
  check(known);
});

test('a lease makes a device run until its attempt ends, or is lost', () => {
  const known = fleet(node('A', [['a1', 'idle', null, true]]));
  for (const outcome of ['succeeded', 'lease_lost']) {
    assert.equal(tell(known, 'task_leased', { task: 'r.1', device: 'a1', worker: 'A' }).state, 'running');
    check(known);
    assert.equal(tell(known, 'attempt_ended', { task: 'r.1', outcome }).state, 'idle');
    assert.equal(tell(known, 'task_ended', { task: 'r.1', status: 'completed' }), null);
    assert.equal(known.tasks.size, 0);
    check(known);
  }
});

test('a lease lost with its node leaves the device absent', () => {
  const known = fleet(node('A', [['a1', 'running', 'r.1', true]]));
  tell(known, 'worker_offline', { worker: 'A' });
  assert.equal(stateOf(known, 'a1'), 'running');
  assert.equal(tell(known, 'attempt_ended', { task: 'r.1', outcome: 'lease_lost' }).state, 'offline');
  check(known);
});

test('the end of an older task does not end the newer one', () => {
  const known = fleet(node('A', [['a1', 'running', 'r.1', true]]));
  tell(known, 'task_leased', { task: 'r.2', device: 'a1' });
  assert.equal(tell(known, 'attempt_ended', { task: 'r.1' }), null);
  assert.equal(stateOf(known, 'a1'), 'running');
  assert.deepEqual([...known.tasks.keys()], ['r.2']);
  check(known);
});

test('a lease of a device that nobody knows changes nothing', () => {
  const known = fleet(node('A', []));
  assert.equal(tell(known, 'task_leased', { task: 'r.1', device: 'zz' }), null);
  assert.equal(tell(known, 'attempt_ended', { task: 'r.1' }), null);
  assert.equal(known.tasks.size, 0);
  check(known);
});

test('a task that goes from one device to another runs on that one alone', () => {
  const known = fleet(node('A', [['a1', 'idle', null, true], ['a2', 'idle', null, true]]));
  tell(known, 'task_leased', { task: 'r.1', device: 'a1' });
  tell(known, 'attempt_ended', { task: 'r.1', outcome: 'lease_lost' });
  tell(known, 'task_leased', { task: 'r.1', device: 'a2' });
  assert.deepEqual(['a1', 'a2'].map((id) => stateOf(known, id)), ['idle', 'running']);
  check(known);
});

test('a device that moves to another node keeps its task and its fault', () => {
  const known = fleet(node('A', [['a1', 'idle', null, true], ['a2', 'running', 'r.1', true], ['a3', 'error', null, true]]), node('B', [['b1', 'idle', null, true]]));
  assert.equal(tell(known, 'device_attached', { device: 'a2', worker: 'B', online: true }), 'node');
  check(known);
  tell(known, 'device_attached', { device: 'a3', worker: 'B', online: true });
  assert.deepEqual([known.nodes.get('A').devices.length, known.nodes.get('B').devices.length], [1, 3]);
  assert.deepEqual(['a2', 'a3'].map((id) => stateOf(known, id)), ['running', 'error']);
  assert.equal(tell(known, 'attempt_ended', { task: 'r.1' }).node.id, 'B');
  assert.equal(stateOf(known, 'a2'), 'idle');
  check(known);
});

test('nodes and devices that are new are there', () => {
  const known = fleet();
  assert.equal(tell(known, 'worker_enrolled', { worker: 'A' }), 'node');
  tell(known, 'device_attached', { device: 'a1', worker: 'A', online: true });
  tell(known, 'device_attached', { device: 'c1', worker: 'C', online: false });
  assert.deepEqual(known.counts, { idle: 1, running: 0, offline: 1, error: 0 });
  assert.equal(tell(known, 'device_attached', { device: 'c1', worker: 'C', online: true }).state, 'idle');
  check(known);
});

test('what is done to a node is known', () => {
  const known = fleet(node('A', []));
  tell(known, 'worker_draining', { worker: 'A' });
  tell(known, 'worker_capped', { worker: 'A', max_devices: 3 });
  tell(known, 'supply_paused', { worker: 'A', until: 9 });
  const { draining, maxDevices, pausedUntil } = known.nodes.get('A');
  assert.deepEqual([draining, maxDevices, pausedUntil], [true, 3, 9]);
  tell(known, 'worker_resumed', { worker: 'A' });
  tell(known, 'supply_resumed', { worker: 'A' });
  assert.deepEqual([known.nodes.get('A').draining, known.nodes.get('A').pausedUntil], [false, null]);
});

test('N8c: a late heartbeat is known until it is back, and changes no device', () => {
  const known = fleet(node('A', [['a1', 'idle', null, true]]));
  assert.equal(known.nodes.get('A').late, false);
  assert.equal(tell(known, 'heartbeat_late', { worker: 'A' }), 'node');
  assert.equal(known.nodes.get('A').late, true);
  assert.equal(stateOf(known, 'a1'), 'idle');
  tell(known, 'heartbeat_back', { worker: 'A' });
  assert.equal(known.nodes.get('A').late, false);
  assert.equal(tell(known, 'heartbeat_late', { worker: 'nobody' }), null);
  check(known);
});
