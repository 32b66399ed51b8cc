//! The vectors of `docs/vectors`, every one of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use ed25519_dalek::{Verifier, VerifyingKey};
use muster_proof::{
    Hash, KeyPair, MerkleTree, PublicKey, Reason, Receipt, ReceiptFault, batch_bytes, canonical,
    decode_base64url, decode_signature, hex, leaf_hash, root_of_path, sha256_hex, signed_bytes,
};
use serde_json::Value;
use std::{fs, path::PathBuf};

/// P10: each document has the form and the hash that Python gives it, or is refused for the reason that is named.
#[test]
fn canonical_forms_are_as_published() {
    let text = read("canonical.jsonl");
    assert!(text.lines().count() > 80);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let input = case["input"]
            .as_str()
            .map_or_else(|| unhex(&case["input_hex"]), |input| input.as_bytes().to_vec());
        match (canonical(&input), case["refused"].as_str()) {
            (Ok(form), None) => {
                assert_eq!(String::from_utf8(form.clone()).unwrap(), case["canonical"], "{line}");
                assert_eq!(sha256_hex(&form), case["sha256"], "{line}");
            }
            (Err(refused), Some(reason)) => assert_eq!(published(&refused.reason), reason, "{line}"),
            (found, _) => panic!("{found:?}: {line}"),
        }
    }
}

fn published(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotANumber(_) => "not a number",
        Reason::BeyondFloat => "beyond float",
        Reason::LoneSurrogate(_) => "lone surrogate",
        Reason::TooDeep => "too deep",
        Reason::DuplicateKey(_) => "duplicate key",
        Reason::IntegerTooLong(_) => "integer too long",
        Reason::NotUtf8 => "not UTF-8",
        Reason::ByteOrderMark => "byte order mark",
        Reason::End
        | Reason::Unexpected(_)
        | Reason::Trailing(_)
        | Reason::ControlCharacter(_)
        | Reason::Escape(_)
        | Reason::UnicodeEscape => "syntax",
    }
}

/// P9: the bytes, the key and the signature of each valid case follow from its seed.
#[test]
fn valid_signatures_are_as_published() {
    let vectors = json("signatures.json");
    for case in vectors["valid"].as_array().unwrap() {
        let pair = KeyPair::from_seed(&unhex(&case["seed"]).try_into().unwrap());
        let bytes = signed(case);
        assert_eq!(case["signed_bytes"].as_str().unwrap().as_bytes(), bytes, "{case}");
        assert_eq!(pair.public_text(), case["public_key"], "{case}");
        assert_eq!(pair.sign(&bytes).to_text(), case["signature"], "{case}");
        assert_eq!(judge(case), Ok(()), "{case}");
    }
}

/// P8, P9: each case that is refused is refused in the words of the contract: encodings, lengths, keys that are no point,
/// small orders, malleable signatures.
#[test]
fn refused_signatures_are_refused_as_published() {
    let vectors = json("signatures.json");
    let refused = vectors["refused"].as_array().unwrap();
    assert!(refused.len() > 40);
    for case in refused {
        assert_eq!(judge(case).unwrap_err(), case["detail"], "{case}");
    }
}

/// P9: the cases made to fool a check that is not strict do fool one, so refusing them shows something.
#[test]
fn crafted_signatures_hold_where_nobody_is_strict() {
    let vectors = json("signatures.json");
    let mut fooled = 0;
    for case in vectors["refused"].as_array().unwrap() {
        let Some(expected) = case["holds_when_not_strict"].as_bool() else { continue };
        let bytes = |field: &str| decode_base64url(case[field].as_str().unwrap()).unwrap();
        let signature = ed25519_dalek::Signature::from_slice(&bytes("signature")).unwrap();
        let key = VerifyingKey::from_bytes(&bytes("public_key").try_into().unwrap());
        assert_eq!(key.is_ok_and(|key| key.verify(&signed(case), &signature).is_ok()), expected, "{case}");
        fooled += usize::from(expected);
    }
    assert!(fooled > 10);
}

/// P9: keys and signatures at the edges of Ed25519 are judged strictly: the conditions of "Taming the many EdDSAs" (Chalkias,
/// Garillot, Nikolaenko 2020), with points and scalars of our own. A check that is not strict accepts what the file says.
#[test]
fn edge_cases_are_judged_as_published() {
    let cases = json("edge_cases.json");
    assert_eq!(cases.as_array().unwrap().len(), 13);
    for case in cases.as_array().unwrap() {
        let text = |field: &str| case[field].as_str().unwrap();
        let message = unhex(&case["message"]);
        let key = PublicKey::decode(text("public_key")).unwrap();
        let signature = decode_signature(text("signature")).unwrap();
        assert_eq!(key.verify(&message, &signature), case["valid"], "{case}");
        let signature = ed25519_dalek::Signature::from_bytes(
            &decode_base64url(text("signature")).unwrap().try_into().unwrap(),
        );
        let lax = VerifyingKey::from_bytes(key.bytes()).unwrap().verify(&message, &signature).is_ok();
        assert_eq!(lax, case["holds_when_not_strict"], "{case}");
    }
}

/// P20: the root, the bytes that are signed, the signature and the paths of each batch are as published.
#[test]
fn batches_are_as_published() {
    for case in json("batches.json").as_array().unwrap() {
        let results = case["results"].as_array().unwrap();
        let leaves: Vec<Hash> = results.iter().map(|result| leaf_hash(&signed(result))).collect();
        let tree = MerkleTree::new(leaves.clone());
        assert_eq!(hex(&tree.root()), case["root"]);
        let bytes = batch_bytes(leaves.len() as u64, &tree.root(), case["worker_id"].as_u64().unwrap());
        assert_eq!(case["signed_bytes"].as_str().unwrap().as_bytes(), bytes);
        let pair = KeyPair::from_seed(&unhex(&case["seed"]).try_into().unwrap());
        assert_eq!(pair.sign(&bytes).to_text(), case["signature"]);
        let places = case["path_of"].as_array().unwrap().iter().map(|place| place.as_u64().unwrap());
        for (place, published) in places.zip(case["paths"].as_array().unwrap()) {
            let index = usize::try_from(place).unwrap();
            let path = tree.path(index).unwrap();
            let digits: Vec<Value> = path.iter().map(|hash| hex(hash).into()).collect();
            assert_eq!(Value::from(digits), *published);
            assert_eq!(root_of_path(leaves[index], place, leaves.len() as u64, &path), Some(tree.root()));
        }
    }
}

fn signed(case: &Value) -> Vec<u8> {
    let (nonce, hash) = (case["nonce"].as_str().unwrap(), case["output_hash"].as_str());
    signed_bytes(case["assignment_id"].as_u64().unwrap(), nonce, hash)
}

/// The checks of P8 that are this crate's, in their order.
fn judge(case: &Value) -> Result<(), String> {
    let text = |field: &str| case[field].as_str().unwrap();
    let key = PublicKey::decode(text("public_key")).map_err(|error| error.to_string())?;
    let signature = decode_signature(text("signature")).map_err(|error| error.to_string())?;
    let is_valid = key.verify(&signed(case), &signature);
    if is_valid { Ok(()) } else { Err("Signature verification failed".to_owned()) }
}

/// P17, P20: each receipt is found to be what the index says.
#[test]
fn receipts_are_judged_as_published() {
    let index = json("receipts/index.json");
    let mut files: Vec<_> =
        index.as_array().unwrap().iter().map(|case| case["file"].as_str().unwrap()).collect();
    for case in index.as_array().unwrap() {
        let text = read(&format!("receipts/{}", case["file"].as_str().unwrap()));
        let outcome = match Receipt::parse(text.as_bytes()) {
            Ok(receipt) => {
                receipt.check(case["key"].as_str()).map_or_else(|fault| outcome(&fault), |()| "verified")
            }
            Err(_) => "no receipt",
        };
        assert_eq!(outcome, case["outcome"], "{case}");
    }
    files.sort_unstable();
    files.dedup();
    assert_eq!(
        files.len() + 1,
        fs::read_dir(path("receipts")).unwrap().count(),
        "a receipt is not in the index"
    );
}

fn outcome(fault: &ReceiptFault) -> &'static str {
    match fault {
        ReceiptFault::Encoding => "encoding",
        ReceiptFault::Form => "form",
        ReceiptFault::Assignment(_) => "assignment",
        ReceiptFault::OutputHash => "output hash",
        ReceiptFault::Job { .. } => "job",
        ReceiptFault::Key(_) => "key",
        ReceiptFault::ExpectedKey(_) => "expected key",
        ReceiptFault::OtherKey(_) => "other key",
        ReceiptFault::Path => "path",
        ReceiptFault::Signature(_) => "signature",
        ReceiptFault::Invalid => "invalid",
    }
}

fn json(file: &str) -> Value {
    serde_json::from_str(&read(file)).unwrap()
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap()
}

fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vectors")).join(file)
}

fn unhex(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap().as_bytes().as_chunks::<2>().0;
    digits.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
