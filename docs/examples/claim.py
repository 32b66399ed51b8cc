#!/usr/bin/env python3
"""A worker that takes rows of runs by claim, as from a table. It needs nothing but Python.

    NODE_AGENT_SHARED_SECRET=$(cat muster-data/node-secret) python3 claim.py http://127.0.0.1:7400 PC-11 2

It works until Ctrl-C. It keeps nothing on disk: a row that it held when it died is tried again when the lease is over.
"""
import json, os, sys, threading, time, urllib.error, urllib.request

SERVER, PC, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])
SECRET = os.environ["NODE_AGENT_SHARED_SECRET"]
DEVICES = [{"device_id": f"{PC}-d{n}", "status": "online"} for n in range(1, COUNT + 1)]
LEASE_MINUTES = 1


class Refused(Exception):
    """The row is not ours any more, or never was."""


def post(path, body):
    """Sends until there is an answer."""
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), {
        "Authorization": "Bearer " + SECRET, "Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (401, 408, 429) and refusal.code < 500:
                raise Refused(refusal.read().decode())
        except OSError as trouble:
            print("will try again:", trouble, file=sys.stderr)
        time.sleep(1)


def rpc(function, **arguments):
    return post("/rest/v1/rpc/" + function, arguments)


def work(row):
    """Does the work; what it raises fails the attempt. `config` has the parameters of the run."""
    time.sleep(row["config"].get("seconds", 0.05))
    if row["config"].get("fail"):
        raise RuntimeError("it was to fail")
    return {"greeted": row["config"].get("name", "world")}


def execute(row):
    over = threading.Event()
    threading.Thread(target=renew, args=(row, over), daemon=True).start()
    try:
        try:
            result = work(row)
        except Exception as error:
            rpc("fail_or_retry_task_device", p_task_device_id=row["id"], p_error=str(error), runner_pc_id=PC)
        else:
            rpc("complete_task_device", p_task_device_id=row["id"], p_result=result, runner_pc_id=PC)
        print(f"{row['device_id']} attempt {row['attempt']} over\n", end="", flush=True)
    except Refused as refusal:  # after a lost answer this only says that the row has ended: the first one counted
        print("set aside:", row["id"], refusal, file=sys.stderr)
    finally:
        over.set()


def renew(row, over):
    """Prolongs the lease while the row is at work: it is the row's own, no other sign of life does."""
    while not over.wait(LEASE_MINUTES * 60 / 3):
        rpc("renew_task_device_lease", task_device_id=row["id"], runner_pc_id=PC, lease_minutes=LEASE_MINUTES)


def attach():
    """Says what is attached, as claims cannot; that also shows that the PC lives."""
    while True:
        post("/api/nodes/pull", {"node_id": PC, "max_jobs": 0, "devices": DEVICES})
        time.sleep(10)


threading.Thread(target=attach, daemon=True).start()
while True:
    rows = rpc("claim_task_devices_for_pc", runner_pc_name=PC, max_to_claim=COUNT, lease_minutes=LEASE_MINUTES)
    for row in rows:
        threading.Thread(target=execute, args=(row,), daemon=True).start()
    if not rows:
        time.sleep(0.5)
