#!/usr/bin/env python3
"""A soldier: does one task of a court and leaves a result. It needs nothing but Python.

A general runs it once per attempt; `command = ["python3", "/path/to/soldier.py"]` in its file. It counts the words of the
file that the payload names, and asks a person where the payload names none.
"""
import json, os, threading, time


def leave(status, summary, **more):
    """The result appears as a whole, or not at all; what is printed and how we exit is for the log only."""
    path = os.environ["MUSTER_RESULT_PATH"]
    with open(path + ".part", "w") as file:
        json.dump({"task_id": task["id"], "status": status, "summary": summary, **more}, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".part", path)


def live():
    """Each touch starts the general's time limit anew."""
    while True:
        open(os.environ["MUSTER_HEARTBEAT_PATH"], "w").close()
        time.sleep(5)


def count(name):
    """Text from a payload is a stranger's: it names a file here, so only plain names in one directory are followed."""
    if os.path.basename(name) != name or name.startswith("."):
        return leave("failed", "", error=f"not a plain file name: {name!r}")
    try:
        with open(os.path.join("texts", name)) as file:
            words = len(file.read().split())
    except OSError as trouble:
        return leave("failed", "", error=str(trouble))
    leave("success", f"{name} has {words} words")


threading.Thread(target=live, daemon=True).start()
with open(os.environ["MUSTER_TASK_PATH"]) as file:
    task = json.load(file)
payload = task["payload"]
if task["type"] == "resume":  # somebody answered what an earlier task asked
    count(payload["text"].strip())
elif "file" in payload:
    count(str(payload["file"]))
else:
    leave("needs_human", "No file was named.", question="Which file shall I count?")
