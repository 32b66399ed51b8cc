// The fleet as this page believes it to be: a snapshot, and every entry of the feed since. Pure: no network, no clock.

/** What a device does, in the order in which it is shown. */
export const STATES = ['idle', 'running', 'offline', 'error'];

/** A model of nodes and devices. `takeSnapshot` begins anew, `apply` takes an entry and names the devices and nodes it changed. */
export class Fleet {
  constructor() {
    /** node id → {id, online, draining, pausedUntil, maxDevices, late, devices: [device]} */
    this.nodes = new Map();
    /** device id → {id, node, place, state, attached, failed, task} */
    this.devices = new Map();
    this.tasks = new Map();
    this.counts = { idle: 0, running: 0, offline: 0, error: 0 };
  }

  /** Takes an answer of `GET /api/fleet`. */
  takeSnapshot(snapshot) {
    this.nodes.clear();
    this.devices.clear();
    this.tasks.clear();
    this.counts = { idle: 0, running: 0, offline: 0, error: 0 };
    for (const given of snapshot.nodes) {
      const node = { id: given.node_id, online: given.status === 'online', draining: given.draining, pausedUntil: given.paused_until, maxDevices: given.max_devices, late: false, devices: [] };
      this.nodes.set(node.id, node);
      for (const [id, state, task, attached] of given.devices) {
        // A server of an older version does not say whether a device is attached: its state tells, as far as it can.
        this.#add({ id, node, attached: attached ?? (state !== 'offline' || !node.online), failed: state === 'error', task });
      }
    }
  }

  #add(device) {
    device.place = device.node.devices.length;
    device.node.devices.push(device);
    this.devices.set(device.id, device);
    if (device.task) this.tasks.set(device.task, device);
    device.state = stateOf(device);
    this.counts[device.state]++;
  }

  /** Takes an entry; gives the device it changed, `'node'` where a whole node or the set of devices changed, or null. */
  apply({ kind, body }) {
    const change = CHANGES[kind];
    return change ? change.call(this, body) : null;
  }

  #update(device, change) {
    if (!device) return null;
    Object.assign(device, change);
    const state = stateOf(device);
    if (state === device.state) return null;
    this.counts[device.state]--;
    this.counts[state]++;
    device.state = state;
    return device;
  }

  device(body, change) {
    return this.#update(this.devices.get(body.device), change);
  }

  lease(body) {
    const device = this.devices.get(body.device);
    if (!device) return null;
    if (device.task) this.tasks.delete(device.task);
    this.tasks.set(body.task, device);
    return this.#update(device, { task: body.task });
  }

  release(body) {
    const device = this.tasks.get(body.task);
    this.tasks.delete(body.task);
    return device?.task === body.task ? this.#update(device, { task: null }) : null;
  }

  node(body, change) {
    const node = this.nodes.get(body.worker);
    if (!node) return null;
    Object.assign(node, change);
    for (const device of node.devices) this.#update(device, {});
    return 'node';
  }

  enrol(body) {
    if (!this.nodes.has(body.worker)) this.nodes.set(body.worker, { id: body.worker, online: true, draining: false, pausedUntil: null, maxDevices: null, late: false, devices: [] });
    return 'node';
  }

  attach(body) {
    if (!this.nodes.has(body.worker)) this.enrol(body);
    const node = this.nodes.get(body.worker);
    const known = this.devices.get(body.device);
    if (known && known.node === node) return this.#update(known, { attached: body.online });
    if (known) this.#detach(known);
    this.#add({ id: body.device, node, attached: body.online, failed: known?.failed ?? false, task: known?.task ?? null });
    return 'node';
  }

  #detach(device) {
    this.counts[device.state]--;
    device.node.devices = device.node.devices.filter((other) => other !== device);
    device.node.devices.forEach((other, place) => { other.place = place; });
  }
}

function stateOf(device) {
  if (device.failed) return 'error';
  if (device.task) return 'running';
  return device.attached && device.node.online ? 'idle' : 'offline';
}

const CHANGES = {
  worker_enrolled: Fleet.prototype.enrol,
  worker_online(body) { return this.node(body, { online: true }); },
  worker_offline(body) { return this.node(body, { online: false }); },
  worker_draining(body) { return this.node(body, { draining: true }); },
  worker_resumed(body) { return this.node(body, { draining: false }); },
  worker_capped(body) { return this.node(body, { maxDevices: body.max_devices ?? null }); },
  heartbeat_late(body) { return this.node(body, { late: true }); },
  heartbeat_back(body) { return this.node(body, { late: false }); },
  supply_paused(body) { return this.node(body, { pausedUntil: body.until }); },
  supply_resumed(body) { return this.node(body, { pausedUntil: null }); },
  device_attached: Fleet.prototype.attach,
  device_online(body) { return this.device(body, { attached: true }); },
  device_offline(body) { return this.device(body, { attached: false }); },
  device_error(body) { return this.device(body, { failed: true }); },
  device_returned(body) { return this.device(body, { failed: false }); },
  task_leased: Fleet.prototype.lease,
  attempt_ended: Fleet.prototype.release,
  task_ended: Fleet.prototype.release,
};
