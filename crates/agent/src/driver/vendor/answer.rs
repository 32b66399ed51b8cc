//! Reads the answers of a vendor's program.

use serde::Deserialize;
use serde_json::Value;

/// An answer of a vendor's program.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    code: i64,
    #[serde(default, alias = "msg")]
    message: Value,
    /// What was asked for.
    #[serde(default)]
    pub(super) data: Value,
}

impl Answer {
    /// Reads one.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| {
            let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]);
            format!("an answer that is none ({error}): {begin:?}")
        })
    }

    /// What it says against the command, if it refused.
    pub(super) fn complaint(&self) -> Option<String> {
        if self.code == SUCCESS {
            return None;
        }
        let said =
            [&self.message, &self.data].into_iter().find_map(Value::as_str).unwrap_or("no reason given");
        let said: String = said.chars().take(SHOWN_BYTES_MAX).collect();
        Some(format!("the vendor's program answered {}: {said}", self.code))
    }

    /// What was asked for, as text.
    pub(super) fn text(self) -> Option<String> {
        match self.data {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }
}

/// Every other code is a failure; programs send 10001.
const SUCCESS: i64 = 10000;

const SHOWN_BYTES_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<String>, String> {
        let answer = Answer::read(text.as_bytes())?;
        match answer.complaint() {
            Some(complaint) => Ok(Some(format!("! {complaint}"))),
            None => Ok(answer.text()),
        }
    }

    /// N23: 10000 alone is success, and what came with it is the step's text.
    #[test]
    fn the_code_decides() {
        let is = |text: &str, expected: Option<&str>| {
            assert_eq!(read(text).unwrap().as_deref(), expected, "{text}")
        };
        is(r#"{"code":10000}"#, None);
        is(r#"{"code":10000,"message":"SUCCESS","data":null}"#, None);
        is(r#"{"code":10000,"data":"on"}"#, Some("on"));
        is(r#"{"code":10000,"data":{"a":[1]}}"#, Some(r#"{"a":[1]}"#));
        is(
            r#"{"code":10001,"message":"no such app"}"#,
            Some("! the vendor's program answered 10001: no such app"),
        );
        is(r#"{"code":10001,"msg":"busy"}"#, Some("! the vendor's program answered 10001: busy"));
        is(r#"{"code":10001,"data":"gone"}"#, Some("! the vendor's program answered 10001: gone"));
        is(r#"{"code":0}"#, Some("! the vendor's program answered 0: no reason given"));
        is(r#"{"code":-1,"message":{}}"#, Some("! the vendor's program answered -1: no reason given"));
    }

    /// N13, N23: what has no code is no answer.
    #[test]
    fn nonsense_is_no_answer() {
        for wrong in ["", "ok", "[]", "{}", "10000", r#"{"code":"x"}"#, r#"{"code":1.5}"#, r#"{"code":10000"#]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(Answer::read(b"\xff\xfe").is_err());
        assert!(read(&"[".repeat(100_000)).unwrap_err().len() < 2000);
    }
}
