#!/usr/bin/env python3
"""A complete worker of the pool. It needs Python and its package `cryptography`.

    MUSTER_PASSWORD=… python3 pool_worker.py http://127.0.0.1:7400 olga rig-1

works for the owner olga until Ctrl-C. The directory rig-1 holds its key, and each result from before it is sent until the
server has it: killed at any moment, its next life sends the very same bytes again, and does nothing twice that was done.
"""
import base64, fcntl, glob, hashlib, json, os, sys, threading, time, urllib.error, urllib.parse, urllib.request
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SERVER, OWNER, NAME = sys.argv[1:4]
PASSWORD = os.environ["MUSTER_PASSWORD"]
session = {"token": ""}


class Refused(Exception):
    def __init__(self, code, detail, headers):
        super().__init__(f"{code} {detail}")
        self.code, self.detail, self.is_repeat = code, detail, headers.get("Muster-Identical") == "true"


def call(path, body=None, form=None, timeout=60):
    """Sends these bytes until there is an answer; logs in, anew where the token is over."""
    while True:
        headers = {"Authorization": "Bearer " + session["token"], "Content-Type": "application/json"}
        if form:
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
        try:
            request = urllib.request.Request(SERVER + path, form or body, headers)
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            detail = json.load(refusal).get("detail", "")
            if refusal.code == 401 and not form:
                login()
                continue
            if refusal.code not in (408, 429) and refusal.code < 500 and detail != "Concurrent submission conflict":
                raise Refused(refusal.code, detail, refusal.headers)
        except OSError as trouble:
            print("will try again:", trouble, file=sys.stderr)
        time.sleep(1)


def login():
    form = urllib.parse.urlencode({"grant_type": "password", "username": OWNER, "password": PASSWORD}).encode()
    session["token"] = call("/auth/login", form=form)["access_token"]


def ask(path, **body):
    return call(path, json.dumps(body).encode())


def canonical(value):
    """What is signed and hashed: one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def base64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def keep(path, data):
    """Writes a file so that it is there as a whole, or not at all, whenever the power fails."""
    with open(os.open(path + ".tmp", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".tmp", path)
    directory = os.open(NAME, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def own_key():
    """One key for all lives: the server knows the worker by it."""
    path = os.path.join(NAME, "key")
    if not os.path.exists(path):
        keep(path, Ed25519PrivateKey.generate().private_bytes_raw())
    with open(path, "rb") as file:
        return Ed25519PrivateKey.from_private_bytes(file.read())


def own_number():
    """Registers at the first start; later ones find the worker by its name."""
    try:
        return ask("/workers/register", name=NAME, public_key=base64url(key.public_key().public_bytes_raw()))["id"]
    except Refused as refusal:
        if refusal.code != 409:
            raise
    return next(each["id"] for each in call("/workers")["workers"] if each["name"] == NAME)


def work(payload):
    """Does the job; what it raises fails the attempt. The result is an object."""
    if not isinstance(payload, dict) or "values" not in payload:
        raise ValueError("the payload has no values")
    time.sleep(payload.get("seconds", 0))
    return {"sum": sum(payload["values"])}


def execute(assignment):
    """Does an assignment and keeps its signed result. From here on only these bytes are ever sent."""
    try:
        output, error = work(assignment["job"]), None
    except Exception as trouble:
        output, error = None, f"{type(trouble).__name__}: {trouble}"
    claim = {"assignment_id": assignment["assignment_id"], "nonce": assignment["nonce"],
             "output_hash": hashlib.sha256(canonical(output)).hexdigest() if output is not None else None}
    result = {**claim, "worker_id": number, "output": output, "error_message": error,
              "signature": base64url(key.sign(canonical(claim)))}
    keep(result_path(assignment), json.dumps(result).encode())


def result_path(assignment):
    return os.path.join(NAME, f"{assignment['assignment_id']:020}.result")


def submit(path):
    with open(path, "rb") as file:
        body = file.read()
    try:
        print("assignment", call("/jobs/submit", body)["assignment_id"], "submitted", flush=True)
    except Refused as refusal:
        if not refusal.is_repeat:  # a repeat was taken before: that answer was lost, and all is well
            print("set aside:", path, refusal, file=sys.stderr)
            return os.rename(path, path + ".aside")
    os.remove(path)


def beat():
    while True:
        ask("/workers/heartbeat", worker_id=number)
        time.sleep(10)


os.makedirs(NAME, mode=0o700, exist_ok=True)
only_one = open(os.path.join(NAME, "lock"), "w")
fcntl.flock(only_one, fcntl.LOCK_EX)  # an earlier life may still be ending
key = own_key()
number = own_number()
for path in sorted(glob.glob(os.path.join(NAME, "*.result"))):
    submit(path)
threading.Thread(target=beat, daemon=True).start()
while True:
    # What was started and has no result: of an earlier life, or of a poll whose answer was lost.
    started = ask("/jobs/poll", worker_id=number, resume=True)["assignments"]
    try:
        started = started or [ask("/jobs/poll", worker_id=number, wait_ms=20000, start=True)]
    except Refused as refusal:
        if refusal.detail != "No assignment available":
            raise
    for assignment in started:
        execute(assignment)
        submit(result_path(assignment))
