#!/usr/bin/env python3
"""A complete Muster node that needs nothing but Python.

    NODE_AGENT_SHARED_SECRET=$(cat muster-data/node-secret) python3 node.py http://127.0.0.1:7400 PC-09 4

It attaches that many pretended devices, works until Ctrl-C, and keeps its reports in memory only: a node that must
survive its own crash writes each report to disk before it sends it.
"""
import json, os, sys, threading, time, urllib.error, urllib.request

SERVER, NODE, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])
SECRET = os.environ["NODE_AGENT_SHARED_SECRET"]
STEPS = ["PREFLIGHT", "BOOTSTRAP", "LOGIN_FLOW", "SCREENSHOT", "UPLOAD"]
DEVICES = [{"device_id": f"{NODE}-d{n}", "runtime_handle": f"{NODE}-d{n}", "status": "online"} for n in range(1, COUNT + 1)]
taken, stopped, said, tally, lock = {}, set(), set(), {}, threading.Lock()


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


def tell(kind, event_id, **fields):
    now = int(time.time() * 1000)
    post("/api/nodes/callback", {"event_id": event_id, "type": kind, "node_id": NODE, "timestamp": now, **fields})


def execute(job):
    def report(kind, what, **fields):  # attempt and lease_token are the fence: they prove which attempt this is about
        tell(kind, f"{job['task_id']}/{job['attempt']}/{what}", **{k: job[k] for k in ("run_id", "task_id", "device_id", "attempt")},
             lease_token=job["lease"]["token"], **fields)
    began = int(time.time() * 1000)
    report("task_started", "start", **{k: job[k] for k in ("runtime_handle", "workflow_id", "timeoutMs")})
    for step in STEPS:
        if job["task_id"] in stopped:
            break
        report("task_progress", step, step=step, status="running")
        time.sleep(0.02)  # the device's work would be here
    end = {"status": "succeeded"}
    if job["task_id"] in stopped:
        end = {"status": "failed", "failure_reason": "unknown", "error_message": "stopped on request"}
    with lock:  # counted before it is told: the run may be called finished the moment its last end is heard of
        tally.setdefault(job["run_id"], {"succeeded": 0, "failed": 0, "timeout": 0})[end["status"]] += 1
    report("task_finished", "end", runtime_handle=job["runtime_handle"],
           timings={"startedAt": began, "endedAt": int(time.time() * 1000)}, **end)
    print(f"{job['device_id']} attempt {job['attempt']} {end['status']}\n", end="", flush=True)


def beat():
    while True:
        tell("node_heartbeat", f"{NODE}/{time.time_ns()}", connected_devices_count=COUNT, queue_devices_count=0,
             running_devices_count=threading.active_count() - 2, vendor_ws_ok=True)
        time.sleep(30)


threading.Thread(target=beat, daemon=True).start()
while True:
    answer = post("/api/nodes/pull", {"node_id": NODE, "max_jobs": 20, "wait_ms": 30000, "devices": DEVICES})
    stopped.update(answer["stop"])
    for run in answer["runs"]:
        counts = {k: run[k] for k in ("target_devices_count", "max_concurrency")}
        tell("run_started", f"{run['run_id']}/{NODE}/start", run_id=run["run_id"], **counts)
    for job in answer["jobs"]:  # an attempt may be handed out again until task_started is heard of: take it once
        if taken.get(job["task_id"], 0) < job["attempt"]:
            taken[job["task_id"]] = job["attempt"]
            stopped.discard(job["task_id"])  # that was said of the attempt before
            threading.Thread(target=execute, args=(job,), daemon=True).start()
    for run_id in set(answer["finished_runs"]) - said:
        said.add(run_id)
        tell("run_finished", f"{run_id}/{NODE}/end", run_id=run_id,
             summary=tally.pop(run_id, {"succeeded": 0, "failed": 0, "timeout": 0}))
