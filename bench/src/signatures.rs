//! Signing and strict verification with the library in use, beside two others that are part of the build anyway.

use crate::stopwatch::{busy, percentile};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use muster_proof::{KeyPair, PublicKey, Signature};
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use std::{hint::black_box, time::Duration};

const WORKERS: usize = 64;
const MESSAGES: usize = 1_000;
const MESSAGE_BYTES: usize = 120;
const TURNS: usize = 31;

pub(crate) fn measure() {
    println!(
        "signatures: {MESSAGES} messages of {MESSAGE_BYTES} bytes, {WORKERS} keys that are ready; CPU time of one core, medians of {TURNS} turns; ring verifies without the strict checks"
    );
    let messages: Vec<Message> = (0..MESSAGES).map(Message::new).collect();
    report("sign", &messages, &[Message::sign, Message::sign_dalek, Message::sign_ring]);
    report("verify", &messages, &[Message::verify, Message::verify_dalek, Message::verify_ring]);
}

/// Measures the ways in turns, so that other load on the machine meets all of them.
fn report(action: &str, messages: &[Message], ways: &[fn(&Message) -> bool; 3]) {
    let mut turns = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for (turn, way) in turns.iter_mut().zip(ways) {
            turn.push(busy(|| assert!(messages.iter().all(|message| black_box(way(message))))).0);
        }
    }
    let [muster, dalek, ring] = turns.map(|mut turn| microseconds(&mut turn));
    println!("  {action:>6}, muster-proof (aws-lc-rs)        {muster:>7.2} µs {:>9.0}/s", 1e6 / muster);
    for (name, time) in [("ed25519-dalek", dalek), ("ring", ring)] {
        println!(
            "  {action:>6}, {name:<30}  {time:>7.2} µs {:>9.0}/s, ratio {:.2}",
            1e6 / time,
            time / muster
        );
    }
}

fn microseconds(turns: &mut [Duration]) -> f64 {
    percentile(turns, 50).as_secs_f64() * 1e6 / MESSAGES as f64
}

/// A message, its signature and its key, prepared for each library.
struct Message {
    bytes: Vec<u8>,
    signature: Signature,
    pair: KeyPair,
    key: PublicKey,
    dalek: (SigningKey, VerifyingKey, ed25519_dalek::Signature),
    ring: Ed25519KeyPair,
}

impl Message {
    fn new(number: usize) -> Self {
        let seed = [u8::try_from(number % WORKERS).expect("there are few workers"); 32];
        let bytes: Vec<u8> = number.to_le_bytes().iter().copied().chain(0..).take(MESSAGE_BYTES).collect();
        let pair = KeyPair::from_seed(&seed);
        let (signature, key, dalek) = (pair.sign(&bytes), pair.public_key(), SigningKey::from_bytes(&seed));
        let dalek = (dalek.clone(), dalek.verifying_key(), dalek.sign(&bytes));
        let ring = Ed25519KeyPair::from_seed_unchecked(&seed).expect("any 32 bytes are a seed");
        Self { bytes, signature, pair, key, dalek, ring }
    }

    fn sign(&self) -> bool {
        self.pair.sign(&self.bytes) == self.signature
    }

    fn sign_dalek(&self) -> bool {
        self.dalek.0.sign(&self.bytes) == self.dalek.2
    }

    fn sign_ring(&self) -> bool {
        self.ring.sign(&self.bytes).as_ref() == self.dalek.2.to_bytes()
    }

    fn verify(&self) -> bool {
        self.key.verify(&self.bytes, &self.signature)
    }

    fn verify_dalek(&self) -> bool {
        self.dalek.1.verify_strict(&self.bytes, &self.dalek.2).is_ok()
    }

    fn verify_ring(&self) -> bool {
        UnparsedPublicKey::new(&ED25519, self.key.bytes())
            .verify(&self.bytes, &self.dalek.2.to_bytes())
            .is_ok()
    }
}
