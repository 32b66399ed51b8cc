//! The strict check beside published cases, and beside ed25519-dalek's `verify_strict` (P9).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use ed25519_dalek::{Signer, SigningKey, Verifier, VerifyingKey};
use muster_proof::{PublicKey, decode_signature, encode_base64url};

/// P9: the verdicts of ed25519-speccheck and Wycheproof.
#[test]
fn published_cases_are_judged_as_published() {
    let files = [include_str!("published/speccheck.txt"), include_str!("published/wycheproof.txt")];
    let counts = files.map(|file| {
        let cases = file.lines().filter(|line| !line.starts_with('#'));
        cases.map(|line| assert_eq!(judge_line(line), line.contains(" valid "), "{line}")).count()
    });
    assert_eq!(counts, [12, 109]);
}

/// P9: points of small order and second spellings, as keys and as the first half of a signature. Some of these signatures
/// hold for messages that nobody signed where the check is not strict.
#[test]
fn points_of_small_order_are_judged_as_by_the_reference() {
    let mut tally = Tally::default();
    for key in edge_points() {
        for point in edge_points() {
            for message in 0..8_u8 {
                let mut signature = [0; 64];
                signature[..32].copy_from_slice(&point);
                tally.compare(&Case { key, message: vec![message], signature });
            }
        }
    }
    assert_eq!(tally.accepted, 0);
    // Fourteen spellings decompress to a key of small order; about one point fits each of them and each message.
    assert!(tally.fooled > 80, "{tally:?}");
}

/// P9: signatures that were changed after signing, in each of the ways that matter.
#[test]
fn changed_signatures_are_judged_as_by_the_reference() {
    let (mut numbers, mut tally) = (Numbers(1), Tally::default());
    let points = edge_points();
    for round in 0..6_000 {
        tally.compare(&changed(round % 10, &points, &mut numbers));
    }
    assert!(tally.accepted >= 600, "{tally:?}");
}

/// Judges one line of a file of cases with the code under test.
fn judge_line(line: &str) -> bool {
    let [_, _, key, message, signature] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let key = PublicKey::decode(&encode_base64url(&unhex(key))).unwrap();
    decode_signature(&encode_base64url(&unhex(signature)))
        .is_ok_and(|signature| key.verify(&unhex(message), &signature))
}

struct Case {
    key: [u8; 32],
    message: Vec<u8>,
    signature: [u8; 64],
}

#[derive(Debug, Default)]
struct Tally {
    accepted: u32,
    /// Cases that only a check that is not strict accepts.
    fooled: u32,
}

impl Tally {
    /// Compares the code under test with the reference.
    fn compare(&mut self, case: &Case) {
        let signature = decode_signature(&encode_base64url(&case.signature)).unwrap();
        let verdict = PublicKey::from(case.key).verify(&case.message, &signature);
        let (strict, lax) = reference(case);
        assert_eq!(verdict, strict, "{:02x?} {:02x?} {:02x?}", case.key, case.message, case.signature);
        self.accepted += u32::from(strict);
        self.fooled += u32::from(lax && !strict);
    }
}

/// Verdicts of ed25519-dalek: `verify_strict` for keys in their only spelling, and `verify`.
fn reference(case: &Case) -> (bool, bool) {
    let Ok(key) = VerifyingKey::from_bytes(&case.key) else { return (false, false) };
    let signature = ed25519_dalek::Signature::from_bytes(&case.signature);
    let is_canonical = key.to_edwards().compress().to_bytes() == case.key;
    let is_strict = key.verify_strict(&case.message, &signature).is_ok();
    (is_canonical && is_strict, key.verify(&case.message, &signature).is_ok())
}

/// The points of small order in all their spellings, and every other coordinate that is not reduced.
fn edge_points() -> Vec<[u8; 32]> {
    let order_8 = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
    let other_order_8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
    let from_lowest = |lowest: u8, rest: u8, highest: u8| {
        let mut bytes = [rest; 32];
        (bytes[0], bytes[31]) = (lowest, highest);
        bytes
    };
    let mut points: Vec<[u8; 32]> =
        [order_8, other_order_8].map(|digits| unhex(digits).try_into().unwrap()).into();
    points.extend([from_lowest(0, 0, 0), from_lowest(1, 0, 0)]);
    points.extend((0xec..=0xff).map(|lowest| from_lowest(lowest, 0xff, 0x7f)));
    let negated = points.clone().into_iter().map(|mut bytes| {
        bytes[31] |= 0x80;
        bytes
    });
    points.into_iter().chain(negated).collect()
}

/// A signature, valid in the first way, changed in the others.
fn changed(way: u32, points: &[[u8; 32]], numbers: &mut Numbers) -> Case {
    let pair = SigningKey::from_bytes(&numbers.bytes());
    let mut message = numbers.bytes::<120>().to_vec();
    let (mut key, mut signature) = (pair.verifying_key().to_bytes(), pair.sign(&message).to_bytes());
    match way {
        0 => {}
        1 => flip(&mut signature, numbers),
        2 => flip(&mut key, numbers),
        3 => flip(&mut message, numbers),
        4 => add_order(&mut signature),
        5 => signature[..32].copy_from_slice(&points[numbers.below(points.len())]),
        6 => key = points[numbers.below(points.len())],
        7 => signature[63] |= 0x20 << numbers.below(3),
        8 => signature[31] ^= 0x80,
        _ => signature = numbers.bytes(),
    }
    Case { key, message, signature }
}

fn flip(bytes: &mut [u8], numbers: &mut Numbers) {
    let place = numbers.below(bytes.len() * 8);
    bytes[place / 8] ^= 1 << (place % 8);
}

/// Adds the order of the group to the scalar: the equation still holds.
fn add_order(signature: &mut [u8; 64]) {
    let order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut carry = 0;
    for (byte, summand) in signature[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(summand) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
}

/// Pseudorandom numbers, the same in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.trim_matches('-').as_bytes().as_chunks::<2>().0;
    pairs.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
