//! The built-in handler: what comes out depends on what goes in, and on nothing else.
//!
//! | payload | output |
//! |---|---|
//! | `{"op":"echo","value":V}` | `{"value":V}` |
//! | `{"op":"sum","values":[1,2,…]}` | `{"sum":…}`, of integers that fit in 64 bits each |
//! | `{"op":"sha256","text":"…"}` | `{"sha256":"…"}`, lower-case hexadecimal, of the text in UTF-8 |
//! | `{"op":"sleep","ms":N}` | `{"slept_ms":N}` after so long, at most an hour |
//! | `{"op":"fail","message":"…"}` | none: the assignment fails with the message |
//! | anything else | `{"echo":PAYLOAD}` |

use super::output;
use muster_proof::{
    json::{Value, parse},
    sha256_hex,
};
use muster_worker_kit::Text;
use std::time::Duration;

/// Executes a payload.
pub(super) async fn run(job: &str) -> Result<Text, String> {
    match plan(job)? {
        Plan::Say(text) => output(text.as_bytes()),
        Plan::Sleep(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            output(format!(r#"{{"slept_ms":{ms}}}"#).as_bytes())
        }
    }
}

/// What a payload asks for. It holds nothing of the tree, which may not be carried through a wait.
enum Plan {
    Say(String),
    Sleep(u64),
}

fn plan(job: &str) -> Result<Plan, String> {
    let payload = parse(job.as_bytes()).map_err(|refused| format!("the payload is no JSON: {refused}"))?;
    let said = match payload.get("op").and_then(Value::as_str) {
        Some("echo") => format!(r#"{{"value":{}}}"#, field(&payload, "value")?.text()),
        Some("sum") => format!(r#"{{"sum":{}}}"#, sum(&payload)?),
        Some("sha256") => {
            let text = field(&payload, "text")?.as_str().ok_or("text: is no string")?;
            format!(r#"{{"sha256":"{}"}}"#, sha256_hex(text.as_bytes()))
        }
        Some("sleep") => {
            let ms = field(&payload, "ms")?.as_u64().filter(|ms| *ms <= SLEEP_MS_MAX);
            return ms.map(Plan::Sleep).ok_or(format!("ms: is no integer from 0 to {SLEEP_MS_MAX}"));
        }
        Some("fail") => {
            let message = payload.get("message").and_then(Value::as_str).filter(|text| !text.is_empty());
            return Err(message.unwrap_or("it was told to fail").to_owned());
        }
        _ => format!(r#"{{"echo":{job}}}"#),
    };
    Ok(Plan::Say(said))
}

fn sum(payload: &Value<'_>) -> Result<i128, String> {
    let values = field(payload, "values")?.as_array().ok_or("values: is no array")?;
    let number = |value: &Value<'_>| {
        value.as_i64().map(i128::from).ok_or(format!("values: {} is no integer of 64 bits", short(value)))
    };
    // So many of 64 bits do not fit in any request that their sum would not fit in 128.
    values.iter().map(number).sum()
}

fn field<'a, 'v>(payload: &'v Value<'a>, name: &str) -> Result<&'v Value<'a>, String> {
    payload.get(name).ok_or_else(|| format!("{name}: is missing"))
}

fn short(value: &Value<'_>) -> String {
    value.text().chars().take(SHOWN_CHARS_MAX).collect()
}

const SLEEP_MS_MAX: u64 = 3_600_000;
const SHOWN_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: the table above; the same payload gives the same bytes, however it is written.
    #[tokio::test(start_paused = true)]
    async fn each_payload_has_its_output() {
        for (payload, expected) in [
            (r#"{"op":"echo","value":{"b":1.50,"a":[]}}"#, r#"{"value":{"a":[],"b":1.5}}"#),
            (r#"{ "value": 1e16, "op": "echo" }"#, r#"{"value":1e+16}"#),
            (
                r#"{"op":"sum","values":[1,-2,9223372036854775807,9223372036854775807]}"#,
                r#"{"sum":18446744073709551613}"#,
            ),
            (r#"{"op":"sum","values":[]}"#, r#"{"sum":0}"#),
            (
                r#"{"op":"sha256","text":"abc"}"#,
                r#"{"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#,
            ),
            (r#"{"op":"sleep","ms":3600000}"#, r#"{"slept_ms":3600000}"#),
            (r#"{"prompt":"hello"}"#, r#"{"echo":{"prompt":"hello"}}"#),
            (r#"{"op":"dance"}"#, r#"{"echo":{"op":"dance"}}"#),
            ("[1, 2]", r#"{"echo":[1,2]}"#),
        ] {
            assert_eq!(run(payload).await.as_deref(), Ok(expected), "{payload}");
        }
    }

    /// P7, P16: what cannot be done fails, in words.
    #[tokio::test]
    async fn what_cannot_be_done_fails() {
        for (payload, expected) in [
            (r#"{"op":"fail","message":"no"}"#, "no"),
            (r#"{"op":"fail","message":""}"#, "it was told to fail"),
            (r#"{"op":"fail"}"#, "it was told to fail"),
            (r#"{"op":"sum","values":[1.5]}"#, "values: 1.5 is no integer of 64 bits"),
            (r#"{"op":"sum"}"#, "values: is missing"),
            (r#"{"op":"sleep","ms":3600001}"#, "ms: is no integer from 0 to 3600000"),
            (r#"{"op":"sha256","text":1}"#, "text: is no string"),
        ] {
            assert_eq!(run(payload).await.unwrap_err(), expected, "{payload}");
        }
        assert!(run("nonsense").await.unwrap_err().starts_with("the payload is no JSON: "));
        let deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
        assert!(run(&deep).await.is_err(), "its echo would be too deep");
    }
}
