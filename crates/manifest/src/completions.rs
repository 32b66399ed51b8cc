//! `completions.jsonl`: the parts of completions that no fragment has (S21). The server writes it, the merge reads it.

use crate::{
    json::{compact, read_object},
    merge::{FileRefusal, Refused, Source, Unreadable},
    name::is_chunk,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{HashMap, hash_map};

/// One line of `completions.jsonl`: the files and metrics that a worker submitted with a range.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionLine {
    /// The chunk of the range.
    pub global_id_chunk_id: u64,
    /// The pose files, relative to the output directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pose_files: Option<Vec<String>>,
    /// The metrics, any JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_snapshot: Option<Box<RawValue>>,
}

/// The reason why a text is not a line of `completions.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompletionError {
    /// The text is not strict JSON, or a field is wrong.
    #[error("not a completion: {0}")]
    Json(String),
    /// The chunk is not a chunk's id.
    #[error("globalIdChunkId: {0} is not from 1 to 2^63 - 1")]
    Chunk(u64),
}

impl CompletionLine {
    /// Reads a line, with or without its line break.
    ///
    /// # Errors
    /// If it is not strict JSON or a field is wrong.
    pub fn parse(line: &[u8]) -> Result<Self, CompletionError> {
        let read: Self = read_object(line).map_err(CompletionError::Json)?;
        match read.global_id_chunk_id {
            chunk if is_chunk(chunk) => Ok(read),
            chunk => Err(CompletionError::Chunk(chunk)),
        }
    }

    /// Returns the text of the line with its line break.
    #[must_use]
    pub fn to_line(&self) -> String {
        let compacted = self.metrics_snapshot.as_deref().map(|metrics| compact(metrics.get()));
        let metrics = compacted.map(|text| RawValue::from_string(text).expect("it has the same tokens"));
        let line = Self { metrics_snapshot: metrics, ..self.clone() };
        let text = serde_json::to_string(&line).expect("a line has only text keys");
        text + "\n"
    }
}

/// All lines, by their chunks.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    by_chunk: HashMap<u64, CompletionLine>,
}

impl Completions {
    /// Reads the lines of a source. Bad lines are refused; the others count.
    pub(crate) fn read(source: &mut dyn Source) -> (Self, Vec<Refused>) {
        let (mut completions, mut refusals, mut number) = (Self::default(), Vec::new(), 0);
        source.completions(&mut |line| {
            number += 1;
            if let Err(reason) = completions.add(number, line) {
                refusals.push(Refused { file: COMPLETIONS.to_owned(), reason });
            }
        });
        (completions, refusals)
    }

    pub(crate) fn of_chunk(&self, chunk: u64) -> Option<&CompletionLine> {
        self.by_chunk.get(&chunk)
    }

    fn add(&mut self, number: u64, line: Result<&[u8], Unreadable>) -> Result<(), FileRefusal> {
        let refuse = |problem: String| FileRefusal::Line { number, problem };
        let line = match line {
            Ok(line) => CompletionLine::parse(line).map_err(|error| refuse(error.to_string()))?,
            // The file as a whole cannot be read.
            Err(error) if number == 1 => return Err(error.into()),
            Err(error) => return Err(refuse(error.to_string())),
        };
        match self.by_chunk.entry(line.global_id_chunk_id) {
            hash_map::Entry::Vacant(entry) => drop(entry.insert(line)),
            hash_map::Entry::Occupied(entry) => {
                return Err(refuse(format!("chunk {} has a line already", entry.key())));
            }
        }
        Ok(())
    }
}

/// The name of the file.
pub const COMPLETIONS: &str = "completions.jsonl";

#[cfg(test)]
mod tests {
    use super::*;

    /// S21: a line is read back as it was written, on one line and in the worker's own words.
    #[test]
    fn a_line_is_read_back() {
        let metrics = "{\"fps\": 30.0,\n \"note\": \"a b\",\"big\":12345678901234567890123}";
        let line = CompletionLine {
            global_id_chunk_id: 7,
            pose_files: Some(vec!["a.json".to_owned(), "b\n.json".to_owned()]),
            metrics_snapshot: Some(RawValue::from_string(metrics.to_owned()).unwrap()),
        };
        let text = line.to_line();
        assert_eq!(
            text,
            "{\"globalIdChunkId\":7,\"poseFiles\":[\"a.json\",\"b\\n.json\"],\"metricsSnapshot\":{\"fps\":30.0,\"note\":\"a b\",\"big\":12345678901234567890123}}\n"
        );
        assert_eq!(CompletionLine::parse(text.as_bytes()).unwrap().to_line(), text);
        let least = CompletionLine::parse(
            br#"{"globalIdChunkId":1,"own":1,"poseFiles":null,"metricsSnapshot":null}"#,
        );
        assert_eq!(least.unwrap().to_line(), "{\"globalIdChunkId\":1}\n");
    }

    /// S21, S25: a line is read strictly.
    #[test]
    fn a_bad_line_is_refused() {
        for bad in [
            "",
            "nonsense",
            "[7]",
            "{}",
            r#"{"globalIdChunkId":0}"#,
            r#"{"globalIdChunkId":9223372036854775808}"#,
            r#"{"globalIdChunkId":"7"}"#,
            r#"{"globalIdChunkId":7,"globalIdChunkId":7}"#,
            r#"{"globalIdChunkId":7,"poseFiles":"a"}"#,
            r#"{"globalIdChunkId":7,"poseFiles":[1]}"#,
            r#"{"globalIdChunkId":7,"metricsSnapshot":{"a":1,"a":2}}"#,
            r#"{"globalIdChunkId":7,"metricsSnapshot":NaN}"#,
            r#"{"globalIdChunkId":7} {"globalIdChunkId":8}"#,
        ] {
            assert!(CompletionLine::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
