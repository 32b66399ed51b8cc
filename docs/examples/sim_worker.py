#!/usr/bin/env python3
"""A complete simulation worker that needs nothing but Python.

    MUSTER_ENROL_SECRET=$(cat muster-data/enrol-secret) python3 sim_worker.py http://127.0.0.1:7400 W9

It writes one text file per frame where the master says, so it needs the master's output directory under the same path.
It keeps nothing on disk: what it held when it dies is given to another, with other ids and in another directory.
"""
import json, os, signal, sys, threading, time, urllib.error, urllib.request

MASTER, NAME = sys.argv[1] + "/api/v1", sys.argv[2]
SECRET = os.environ["MUSTER_ENROL_SECRET"]
state = {"epoch": 0, "factor": 1.0, "frame": 0, "queue": 0.0}
stopped, lost = set(), threading.Event()


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code = code


def call(method, path, body=None, timeout=40, **headers):
    """One try. What the master refuses is Refused; no answer, 408, 429 and 5xx are an OSError: the same again, later."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(MASTER + path, data, {"Content-Type": "application/json", **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refusal:
        if refusal.code in (408, 429) or refusal.code >= 500:
            raise OSError(f"{refusal.code} {refusal.reason}")
        raise Refused(refusal.code, refusal.read().decode())


def mine(method, path, body=None, timeout=40):
    return call(method, path, body, timeout, X_Worker_Token=state["token"])


def patiently(method, path, body=None):
    """Until there is an answer, or the master has given us up: then whatever we have is another's."""
    while not lost.is_set():
        try:
            return mine(method, path, body)
        except OSError as trouble:
            print("will try again:", trouble, file=sys.stderr)
            time.sleep(0.5)
    raise Refused(409, "given up")


def register():
    body = {"workerId": NAME, "role": "simulation", "capabilities": {"slots": 1}, "currentSession": None}
    while True:
        try:
            answer = call("POST", "/workers/register", body, Authorization="Bearer " + SECRET)
        except OSError as trouble:
            print("will try again:", trouble, file=sys.stderr)
        except Refused as refusal:
            if refusal.code != 403:  # 403: in quarantine, until an operator approves us
                raise SystemExit(str(refusal))
        else:
            break
        time.sleep(1)
    state.update(token=answer["workerToken"], interval=answer["heartbeatIntervalMs"] / 1000, epoch=answer["epoch"])
    state["done"] = 0
    stopped.clear()
    lost.clear()


def live():
    """Heartbeats, beside everything else. Five failures in a row, or a master that says so: all we hold is lost."""
    failures, rtt = 0, 0
    while not lost.is_set():
        began = time.monotonic()
        body = {"queueRatio": state["queue"], "lastFrame": state["frame"], "status": "rendering", "rttMs": rtt}
        try:
            answer = mine("POST", f"/workers/{NAME}/heartbeat", body, timeout=2)
            failures, rtt = 0, int((time.monotonic() - began) * 1000)
            if answer["state"] == "zombie":
                end()
            state["factor"] = answer["backpressure"]["factor"]
            commands = answer["commands"]
            stopped.update(c["stop"] for c in commands if isinstance(c, dict) and "stop" in c)
            # A new term (rebind): the plain way is to begin anew, as when the master forgot us.
            if "reregister" in commands or "rebind" in commands or answer["epoch"] > state["epoch"]:
                lost.set()
        except OSError:
            failures += 1
            if failures == 5:
                lost.set()
        except Refused as refusal:
            if refusal.code == 410:
                end()
            lost.set()
        time.sleep(state["interval"])


def progress(task, done):
    body = {"sessionId": task["sessionId"], "taskId": task["taskId"], "processedFrames": done,
            "maxQueueRatio": state["queue"], "droppedFrames": 0, "diagnostics": []}
    patiently("POST", f"/workers/{NAME}/progress", body)


def render(task):
    """Renders into the directory of this attempt and nowhere else; true when all of it was done."""
    start, end = task["frameRange"]
    ids, last = iter(range(*task["globalIdChunk"]["range"])), task["globalIdChunk"]["range"][1] - 1
    frames = os.path.join(task["outputDirectory"], "frames")
    os.makedirs(frames, exist_ok=True)
    progress(task, 0)  # at once: it confirms the task
    told, state["done"] = time.monotonic(), 0
    for frame in range(start, end):
        if task["taskId"] in stopped or lost.is_set():
            return False
        with open(os.path.join(frames, f"{frame:08}.txt"), "w") as file:  # your renderer would be here
            file.write(f"frame {frame} of {task['sessionId']}, with person {next(ids)}\n")
            os.fsync(file.fileno())
        state["frame"], state["done"] = frame, frame + 1 - start
        time.sleep(0.01 / max(state["factor"], 0.1))
        if time.monotonic() - told > 1:
            progress(task, state["done"])
            told = time.monotonic()
    return True


def complete(task):
    """Hands the range in. The same bytes again until there is an answer: it counts once."""
    start, end = task["frameRange"]
    fragment = {"frameRange": [start, end], "globalIdChunkId": task["globalIdChunk"]["chunkId"], "workerId": NAME,
                "cameras": task.get("cameras") or [], "statistics": {"frames": end - start, "droppedFrames": 0},
                "validationSummary": {}, "replay": task["replay"]}
    body = {"workerId": NAME, "attempt": task["attempt"], "poseFiles": [], "metricsSnapshot": {}, "manifestFragment": fragment}
    patiently("POST", f"/tasks/{task['taskId']}/complete", body)
    print(f"frames {start} to {end} of {task['sessionId']} done", flush=True)


def execute(task):
    try:
        is_whole = render(task)
    except OSError as trouble:  # the disk is full; or the directory was moved away, because the task is another's by now
        progress(task, state["done"])  # which frame failed: the first one that is not done
        body = {"workerId": NAME, "attempt": task["attempt"], "error": str(trouble)}
        patiently("POST", f"/tasks/{task['taskId']}/fail", body)
    else:
        if is_whole:
            complete(task)


def end():
    """An operator removed this worker: it stops at once and makes no further call."""
    print("removed by an operator", file=sys.stderr, flush=True)
    os._exit(4)


def leave(*_):
    try:
        mine("DELETE", f"/workers/{NAME}", timeout=2)  # what is held goes to others at once
    finally:
        os._exit(0)


register()
signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGINT, leave)
while True:
    beats = threading.Thread(target=live, daemon=True)
    beats.start()
    while not lost.is_set():
        try:
            task = patiently("GET", f"/workers/{NAME}/tasks?wait_ms=5000")["task"]
            if task and task["epoch"] >= state["epoch"]:
                execute(task)
        except Refused as refusal:  # 404, 409: not ours any more
            if refusal.code == 410:
                end()
            print("set aside:", refusal, file=sys.stderr)
            time.sleep(0.2)
    beats.join()
    register()
