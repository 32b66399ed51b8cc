//! A worker of the pool that exists only here: it polls, claims to execute, signs and submits.

use crate::{Answer, Client};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A registered worker and its key.
#[derive(Clone, Debug)]
pub struct FakePoolWorker {
    /// Its id.
    pub id: u64,
    owner: Client,
    key: SigningKey,
}

impl FakePoolWorker {
    /// Registers one.
    #[must_use]
    pub fn registered(owner: &Client, name: &str) -> Self {
        Self::with(owner, name, &json!({}))
    }

    /// Registers one with more to say about it, such as `{"region": "eu", "specs_json": {"slots": 4}}`.
    #[must_use]
    pub fn with(owner: &Client, name: &str, more: &Value) -> Self {
        let key = SigningKey::from_bytes(&Sha256::digest(name).into());
        let mut body = more.clone();
        body["name"] = json!(name);
        body["public_key"] = json!(encode(&key));
        let answer = owner.post("/workers/register", &body).expect(201);
        Self { id: answer["id"].as_u64().unwrap(), owner: owner.clone(), key }
    }

    /// The same worker by another token of its owner's.
    #[must_use]
    pub fn by(&self, owner: &Client) -> Self {
        Self { owner: owner.clone(), ..self.clone() }
    }

    /// Its public key, as it was registered.
    #[must_use]
    pub fn public_key(&self) -> String {
        encode(&self.key)
    }

    /// Whoever owns it.
    #[must_use]
    pub fn owner(&self) -> &Client {
        &self.owner
    }

    /// Says that it lives.
    pub fn beat(&self) {
        let _ = self.owner.post("/workers/heartbeat", &json!({"worker_id": self.id})).expect(200);
    }

    /// Asks for work, however that is answered.
    #[must_use]
    pub fn try_poll(&self) -> Answer {
        self.owner.post("/jobs/poll", &json!({"worker_id": self.id}))
    }

    /// Asks for work that must be there.
    #[must_use]
    pub fn poll(&self) -> Value {
        self.try_poll().expect(200)
    }

    /// A result of an assignment, signed, with the hash of its output as the source document recommends.
    #[must_use]
    pub fn result(&self, assignment: &Value, output: &Value) -> Value {
        // Keys stand in order in `serde_json`, so that plain ASCII is canonical as it is written.
        let hash = sha256_hex(output.to_string().as_bytes());
        let mut body = self.signed(assignment, Some(&hash));
        body["output"] = output.clone();
        body
    }

    /// A result with any hash, or none, and no output.
    #[must_use]
    pub fn signed(&self, assignment: &Value, hash: Option<&str>) -> Value {
        let (id, nonce) = (&assignment["assignment_id"], &assignment["nonce"]);
        let text = json!({"assignment_id": id, "nonce": nonce, "output_hash": hash}).to_string();
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(text.as_bytes()).to_bytes());
        json!({"worker_id": self.id, "assignment_id": id, "nonce": nonce, "signature": signature,
            "output_hash": hash})
    }

    /// Hands a result in.
    #[must_use]
    pub fn submit(&self, result: &Value) -> Answer {
        self.owner.post("/jobs/submit", result)
    }

    /// Asks for work, does it and hands it in; says what it handed in.
    pub fn work_off(&self, output: &Value) -> Value {
        let result = self.result(&self.poll(), output);
        let _ = self.submit(&result).expect(200);
        result
    }

    /// The worker as its owner sees it.
    #[must_use]
    pub fn shown(&self) -> Value {
        let all = self.owner.get("/workers").expect(200);
        all["workers"].as_array().unwrap().iter().find(|worker| worker["id"] == self.id).unwrap().clone()
    }
}

/// The digest of some bytes, in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn encode(key: &SigningKey) -> String {
    URL_SAFE_NO_PAD.encode(key.verifying_key().to_bytes())
}
