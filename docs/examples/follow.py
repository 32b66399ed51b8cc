#!/usr/bin/env python3
"""Submits a run and follows it by the feed, without a gap, until it has ended. It needs nothing but Python.

    MUSTER_TOKEN=$(cat muster-data/admin-token) python3 follow.py http://127.0.0.1:7400 PC-11 order-7

The last word is a key: submitted again under the same one, also by the next life of this program, it is the same run.
"""
import json, os, sys, time, urllib.error, urllib.request

SERVER, PC, KEY = sys.argv[1:4]
HEADERS = {"Authorization": "Bearer " + os.environ["MUSTER_TOKEN"], "Content-Type": "application/json"}


def ask(path, body=None, timeout=60, **headers):
    data = json.dumps(body).encode() if body is not None else None
    return urllib.request.urlopen(urllib.request.Request(SERVER + path, data, {**HEADERS, **headers}), timeout=timeout)


def entries(feed, last=None):
    """Yields (kind, entry) of the feed; where the line breaks it goes on after the last entry heard."""
    while True:
        try:
            feed = feed or ask("/api/events", **({"Last-Event-ID": last} if last else {}))
            for line in feed:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    last = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)
        except urllib.error.HTTPError as refusal:
            raise SystemExit(refusal.read().decode())  # 410: so much was missed that it is no longer kept
        except OSError as trouble:
            print("will try again:", trouble, file=sys.stderr)
            time.sleep(1)
        feed = None
        yield "interrupted", {}


def status():
    return json.load(ask("/api/runs/" + run))["status"]


feed = ask("/api/events")  # before the run is there: nothing of it can be missed
body = {"workflow_id": "hello", "scope": {"pcs": [PC]}}
run = json.load(ask("/api/runs", body, **{"Idempotency-Key": KEY}))["run_id"]
print("run", run)
if status() in ("pending", "running"):
    for kind, entry in entries(feed):
        if run in (entry.get("job"), entry.get("task", "").split(".")[0]):
            print(kind, entry.get("device", ""))
        if kind in ("job_ended", "interrupted") and status() not in ("pending", "running"):
            break
print(status())
