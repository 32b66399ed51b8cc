//! The cameras of a session: those of all surviving fragments, each once (S21).

use crate::table::Table;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// Lists the cameras of the surviving fragments in order of first appearance, each with the text of its first appearance.
///
/// Two cameras are the same if their canonical JSON (P10) is: the order of keys and the spelling of strings and fractions
/// do not matter. P10 refuses nothing that a fragment may contain, and keeps integers of any size exact.
pub(crate) fn cameras(table: &Table, surviving_frames: &[u64]) -> Vec<Box<str>> {
    let (mut cameras, mut seen, mut seen_texts) = (Vec::new(), HashSet::new(), HashSet::new());
    for (entry, _) in table.entries().iter().zip(surviving_frames).filter(|(_, frames)| **frames > 0) {
        // Most fragments of a session have the same cameras, in the same words.
        let Some(text) = table.cameras(entry).filter(|text| seen_texts.insert(*text)) else { continue };
        for camera in items(text) {
            let canonical = muster_proof::canonical(camera.as_bytes());
            if seen.insert(canonical.unwrap_or_else(|_| camera.as_bytes().to_vec())) {
                cameras.push(camera.into());
            }
        }
    }
    cameras
}

/// Splits the text of a list into those of its items. Any other value is one camera.
fn items(text: &str) -> Vec<&str> {
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(items) => items.into_iter().map(RawValue::get).collect(),
        Err(_) => vec![text],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fragment::Fragment, name::FragmentName};
    use muster_artifacts::ContentHash;

    /// Cameras of fragments that follow each other, each with the number of its surviving frames.
    fn cameras_of(fragments: &[(&str, u64)]) -> Vec<Box<str>> {
        let mut table = Table::default();
        for (chunk, (cameras, _)) in (1..).zip(fragments) {
            let text = format!(
                r#"{{"frameRange":[{chunk},{}],"globalIdChunkId":{chunk},"cameras":{cameras}}}"#,
                chunk + 1
            );
            let fragment = Fragment::parse(text.as_bytes()).unwrap();
            table.add(&FragmentName::new("W", chunk).unwrap(), &fragment, ContentHash::of(b""));
        }
        table.settle();
        cameras(&table, &fragments.iter().map(|(_, frames)| *frames).collect::<Vec<_>>())
    }

    /// S21: integers beyond 64 bits stay what they are; a whole number and a fraction are two cameras.
    #[test]
    fn numbers_are_compared_exactly() {
        let fragments = [
            ("[100000000000000000000001,100000000000000000000002]", 1),
            ("[100000000000000000000001,1,1.0,10e-1,-0]", 1),
        ];
        let expected = ["100000000000000000000001", "100000000000000000000002", "1", "1.0", "-0"];
        assert_eq!(cameras_of(&fragments).iter().map(|text| &**text).collect::<Vec<_>>(), expected);
    }

    /// S21: `null` is no camera, and a value that is not a list is one.
    #[test]
    fn another_value_is_one_camera() {
        let fragments =
            [("null", 1), (r#"{"id":[1, 2]}"#, 1), ("[]", 1), (r#""cam [0]""#, 1), (r#"[{"id":[1,2]}]"#, 1)];
        assert_eq!(
            cameras_of(&fragments).iter().map(|text| &**text).collect::<Vec<_>>(),
            [r#"{"id":[1,2]}"#, r#""cam [0]""#]
        );
    }
}
