"""A client, an owner and a worker of the pool, written from the protocol's document alone.

Nothing of Muster is used: the standard library speaks HTTP, `cryptography` signs.
POOL_URL says where the server is; POOL_CLIENT, POOL_OWNER and POOL_SECOND_OWNER are "name password" of three users.
"""

import base64
import hashlib
import json
import os
import urllib.error
import urllib.parse
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def base64url(data, padding):
    text = base64.urlsafe_b64encode(data).decode("ascii")
    return text if padding else text.rstrip("=")


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers = status, headers
        self.json = json.loads(body) if body else None

    def expect(self, status, detail=None):
        assert self.status == status, f"{self.status} instead of {status}: {self.json}"
        if detail is not None:
            assert self.json["detail"] == detail, self.json
        return self.json


class Caller:
    """Somebody who logged in by OAuth2's password flow."""

    def __init__(self, credentials):
        name, password = credentials.split(" ")
        form = {"grant_type": "password", "username": name, "password": password}
        self.token = None
        answer = self.send("POST", "/auth/login", urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded")
        token = answer.expect(200)
        assert token["token_type"] == "bearer" and token["expires_in"] > 0
        self.token = token["access_token"]

    def send(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(os.environ["POOL_URL"] + path, data=body, method=method)
        if body is not None:
            request.add_header("Content-Type", kind)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read())

    def post(self, path, body):
        return self.send("POST", path, json.dumps(body).encode())

    def get(self, path):
        return self.send("GET", path)


class Worker:
    def __init__(self, owner, name, padding):
        self.owner, self.padding = owner, padding
        self.key = Ed25519PrivateKey.generate()
        public = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.public_key = base64url(public, padding)
        body = {"name": name, "region": "sa-east-1", "public_key": self.public_key}
        worker = owner.post("/workers/register", body).expect(201)
        assert worker["status"] == "offline" and worker["last_seen_at"] is None, worker
        assert worker["public_key"] == self.public_key and worker["specs_json"] is None, worker
        self.id = worker["id"]

    def beat(self):
        seen = self.owner.post("/workers/heartbeat", {"worker_id": self.id}).expect(200)
        assert seen["worker_id"] == self.id and seen["last_seen_at"].endswith("Z"), seen

    def poll(self):
        return self.owner.post("/jobs/poll", {"worker_id": self.id})

    def result(self, assignment, output):
        """The body of a submission; its hash is of the canonical output, as the document recommends."""
        output_hash = hashlib.sha256(canonical(output)).hexdigest()
        signed = {
            "assignment_id": assignment["assignment_id"],
            "nonce": assignment["nonce"],
            "output_hash": output_hash,
        }
        signature = base64url(self.key.sign(canonical(signed)), self.padding)
        return {**signed, "worker_id": self.id, "signature": signature, "output": output}

    def submit(self, body):
        return self.owner.post("/jobs/submit", body)


PAYLOADS = [
    {"prompt": "hello"},
    {"é": "ü", "z": 1, "a": [1, 2.5, -0.0, 1e16, 1e-7, 123456789012345678901234567890]},
    {"astral": "\U0001f980", "controls": "\u0001\u001f\n", "quote": '"\\/'},
    {"nested": {"b": {"b": None, "a": True}, "a": []}},
    {"\U0001f980": 1, "\uffff": 2, "key": "by code point"},
    {},
]


def work_through(client, worker):
    for payload in PAYLOADS:
        job = client.post("/jobs", {"payload": payload, "priority": 42, "verify_output_hash": True}).expect(201)
        assignment = worker.poll().expect(200)
        assert assignment["job"] == payload and assignment["cost_hint_tokens"] == 42, assignment
        assert worker.poll().expect(200) == assignment, "the same until it is submitted"
        body = worker.result(assignment, {"echo": payload})
        refusals(worker, body)
        done = worker.submit(body).expect(200)
        assert done["assignment_id"] == assignment["assignment_id"] and done["status"] == "completed", done
        again = worker.submit(body)
        again.expect(409, "Assignment already submitted")
        assert again.headers["Muster-Identical"] == "true"
        shown = client.get(f"/jobs/{job['id']}").expect(200)
        assert shown["output"] == {"echo": payload} and shown["output_hash"] == body["output_hash"], shown
        check_receipt(client.get(f"/jobs/{job['id']}/receipt").expect(200), worker, body)
    worker.poll().expect(404, "No assignment available")


def agree(client, workers):
    """Workers of two owners do the same job; each result needs its output, and a hash that is the output's."""
    job = client.post("/jobs", {"payload": {"n": 1}, "redundancy": 2}).expect(201)
    output = {"é": 1.0, "echo": {"n": 1}}
    for worker in workers:
        body = worker.result(worker.poll().expect(200), output)
        bare = {name: value for name, value in body.items() if name != "output"}
        worker.submit(bare).expect(400, "Output required")
        worker.submit({**body, "output": {"echo": "false"}}).expect(400, "Output hash mismatch")
        worker.submit(body).expect(200)
    shown = client.get(f"/jobs/{job['id']}").expect(200)
    assert (shown["status"], shown["output"]) == ("completed", output), shown
    assert shown["output_hash"] == hashlib.sha256(canonical(output)).hexdigest(), shown


def refusals(worker, body):
    """What is not its signature is refused, in the document's words."""
    other = Ed25519PrivateKey.generate().sign(b"anything")
    worker.submit({**body, "signature": base64url(other, worker.padding)}).expect(400, "Signature verification failed")
    worker.submit({**body, "signature": "!"}).expect(400, "Invalid signature encoding")
    worker.submit({**body, "signature": "AAAA"}).expect(400, "Invalid signature length")
    worker.submit({**body, "worker_id": 10**6}).expect(404, "Worker not found")
    worker.submit({**body, "nonce": ""}).expect(422)


def check_receipt(receipt, worker, body):
    """Whoever has the receipt and the worker's key needs nobody else."""
    signed = decode(receipt["signed_bytes"])
    assert json.loads(signed) == {name: body[name] for name in ("assignment_id", "nonce", "output_hash")}
    assert signed == canonical(json.loads(signed))
    key = Ed25519PublicKey.from_public_bytes(decode(worker.public_key))
    key.verify(decode(receipt["signature"]), signed)
    try:
        key.verify(decode(receipt["signature"]), signed + b" ")
    except InvalidSignature:
        return
    raise AssertionError("anything verifies")


def main():
    client, owner = Caller(os.environ["POOL_CLIENT"]), Caller(os.environ["POOL_OWNER"])
    client.get("/workers").expect(403, "Insufficient role")
    owner.post("/jobs", {"payload": {}}).expect(403, "Insufficient role")
    for padding in (False, True):
        worker = Worker(owner, f"python-{padding}", padding)
        owner.post("/workers/register", {"name": f"python-{padding}"}).expect(409, "Worker name already exists")
        worker.beat()
        work_through(client, worker)
    second = Worker(Caller(os.environ["POOL_SECOND_OWNER"]), "python-second", False)
    second.beat()
    agree(client, [worker, second])
    listed = owner.get("/workers").expect(200)["workers"]
    assert [worker["name"] for worker in listed] == ["python-False", "python-True"], listed
    assert all(worker["status"] == "online" for worker in listed), listed
    print(f"{2 * len(PAYLOADS) + 1} jobs, all as they should be")


main()
