#!/usr/bin/env python3
"""A complete Muster node that needs nothing but Python.

    NODE_AGENT_SHARED_SECRET=$(cat muster-data/node-secret) python3 node.py http://127.0.0.1:7400 PC-09 4

It attaches that many pretended devices and works until Ctrl-C, or until it is killed: what it has to say is on disk, in
the directory PC-09-spool, before it is sent and until it was answered, and so is what it has begun.
"""
import fcntl, glob, hashlib, json, os, sys, threading, time, urllib.error, urllib.request

SERVER, NODE, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])
SECRET = os.environ["NODE_AGENT_SHARED_SECRET"]
SPOOL = NODE + "-spool"
STEPS = ["PREFLIGHT", "BOOTSTRAP", "LOGIN_FLOW", "SCREENSHOT", "UPLOAD"]
DEVICES = [{"device_id": f"{NODE}-d{n}", "runtime_handle": f"{NODE}-d{n}", "status": "online"} for n in range(1, COUNT + 1)]
taken, stopped, said, tally, lock = {}, set(), set(), {}, threading.Lock()


def keep(name, value):
    """Writes a file of the spool so that it is there as a whole, or not at all, whenever the power fails."""
    path = os.path.join(SPOOL, name)
    with open(path + ".tmp", "w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".tmp", path)
    directory = os.open(SPOOL, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    return path


def load(pattern):
    for path in sorted(glob.glob(os.path.join(SPOOL, pattern))):
        with open(path) as file:
            yield path, json.load(file)


def post(path, body):
    """Sends until there is an answer. A repeat is harmless: jobs keep their attempt, events their event_id."""
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), {
        "Authorization": "Bearer " + SECRET, "Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (401, 408, 429) and refusal.code < 500:
                print("set aside:", path, body, refusal.read().decode(), file=sys.stderr)
                return {}
        except OSError as trouble:
            print("will try again:", trouble, file=sys.stderr)
        time.sleep(1)


def send(path, event):
    post("/api/nodes/callback", event)
    os.remove(path)


def tell(kind, event_id, ends=None, **fields):
    """Keeps an event, then sends it. One that ends a job takes the place of the job's file first."""
    event = {"event_id": event_id, "type": kind, "node_id": NODE, "timestamp": int(time.time() * 1000), **fields}
    if kind == "node_heartbeat":
        return post("/api/nodes/callback", event)
    path = keep(f"{time.time_ns():020}-{hashlib.sha256(event_id.encode()).hexdigest()[:16]}.event", event)
    if ends:
        os.remove(ends)
    send(path, event)


def report(job, kind, what, **fields):
    """Reports with attempt and lease_token: they are the fence, and prove which attempt this is about."""
    tell(kind, f"{job['task_id']}/{job['attempt']}/{what}", **{k: job[k] for k in ("run_id", "task_id", "device_id", "attempt")},
         lease_token=job["lease"]["token"], **fields)


def finish(job, file, began, end):
    with lock:  # counted before it is told: the run may be called finished the moment its last end is heard of
        tally.setdefault(job["run_id"], {"succeeded": 0, "failed": 0, "timeout": 0})[end["status"]] += 1
        keep("tally.json", tally)
    report(job, "task_finished", "end", ends=file, runtime_handle=job["runtime_handle"],
           timings={"startedAt": began, "endedAt": int(time.time() * 1000)}, **end)
    print(f"{job['device_id']} attempt {job['attempt']} {end['status']}\n", end="", flush=True)


def execute(job, file):
    began = int(time.time() * 1000)
    report(job, "task_started", "start", **{k: job[k] for k in ("runtime_handle", "workflow_id", "timeoutMs")})
    for step in STEPS:
        if job["task_id"] in stopped:
            break
        report(job, "task_progress", step, step=step, status="running")
        time.sleep(job["params"].get("step_s", 0.02))  # the device's work would be here
    end = {"status": "succeeded"}
    if job["task_id"] in stopped:
        end = {"status": "failed", "failure_reason": "unknown", "error_message": "stopped on request"}
    finish(job, file, began, end)


def recover():
    """Says what an earlier life did not get to say; what it had begun has failed, and is never silently done twice."""
    tally.update(*(counts for _, counts in load("tally.json")))
    ended = set()
    for path, event in load("*.event"):
        ended.add(event["event_id"])
        send(path, event)
    for path, job in load("*.job"):
        if f"{job['task_id']}/{job['attempt']}/end" in ended:
            os.remove(path)
            continue
        now = int(time.time() * 1000)
        finish(job, path, now, {"status": "failed", "failure_reason": "unknown", "error_message": "agent restarted"})


def announce(run):
    """Says that a run has begun here. It is asked for again while the run's first job is: then the very same is said."""
    name = run["run_id"] + ".run"
    events = [event for _, event in load(name)] or [
        {"event_id": f"{run['run_id']}/{NODE}/start", "type": "run_started", "node_id": NODE, "timestamp": int(time.time() * 1000),
         **{k: run[k] for k in ("run_id", "target_devices_count", "max_concurrency")}}]
    keep(name, events[0])
    post("/api/nodes/callback", events[0])


def conclude(run_id):
    with lock:
        summary = tally.pop(run_id, {"succeeded": 0, "failed": 0, "timeout": 0})
    tell("run_finished", f"{run_id}/{NODE}/end", run_id=run_id, summary=summary)
    for path, _ in load(run_id + ".run"):
        os.remove(path)


def beat():
    while True:
        tell("node_heartbeat", f"{NODE}/{time.time_ns()}", connected_devices_count=COUNT, queue_devices_count=0,
             running_devices_count=threading.active_count() - 2, vendor_ws_ok=True)
        time.sleep(30)


os.makedirs(SPOOL, exist_ok=True)
only_one = open(os.path.join(SPOOL, "lock"), "w")
fcntl.flock(only_one, fcntl.LOCK_EX)  # an earlier life may still be ending
recover()
threading.Thread(target=beat, daemon=True).start()
while True:
    answer = post("/api/nodes/pull", {"node_id": NODE, "max_jobs": 20, "wait_ms": 30000, "devices": DEVICES})
    stopped.update(answer["stop"])
    for run in answer["runs"]:
        announce(run)
    for job in answer["jobs"]:  # an attempt may be handed out again until task_started is heard of: take it once
        if taken.get(job["task_id"], 0) < job["attempt"]:
            taken[job["task_id"]] = job["attempt"]
            stopped.discard(job["task_id"])  # that was said of the attempt before
            file = keep(f"{job['task_id']}.{job['attempt']}.job", job)
            threading.Thread(target=execute, args=(job, file), daemon=True).start()
    for run_id in set(answer["finished_runs"]) - said:
        said.add(run_id)
        conclude(run_id)
