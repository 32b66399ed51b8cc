//! Merge and verification on a real directory, with everything in it that should not be.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_manifest::{
    Difference, FileRefusal, FrameRange, Memory, MergeError, MergeOptions, MergeReport, Session, Source,
    Take, Unreadable, VerifyReport, merge_directory, verify_directory,
};
use serde_json::{Value, json};
use std::{fs, io, os::unix::fs::symlink, path::PathBuf};
use tempfile::TempDir;

/// A directory with fragments.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(file), content).unwrap();
    }

    /// Writes a fragment of worker `W`; returns its name.
    fn put(&self, range: [u64; 2], chunk: u64) -> String {
        let name = format!("manifest_fragment_W_{chunk}.json");
        let text = json!({"frameRange": range, "globalIdChunkId": chunk, "workerId": "W", "statistics": {"persons": 1}});
        self.write(&name, text.to_string());
        name
    }

    fn try_merge(&self, total_frames: Option<u64>) -> Result<MergeReport, MergeError> {
        merge_directory(self.0.path(), &MergeOptions { total_frames, ..MergeOptions::default() })
    }

    fn merge(&self) -> MergeReport {
        self.try_merge(None).unwrap()
    }

    fn verify(&self) -> VerifyReport {
        verify_directory(self.0.path(), None).unwrap()
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("manifest.json")).unwrap()).unwrap()
    }
}

/// S24: what is missing is reported, up to the end that was given.
#[test]
fn gaps_are_reported() {
    let home = Home::new();
    home.put([10, 20], 1);
    home.put([30, 40], 2);
    let report = home.merge();
    assert_eq!(report.gaps, [FrameRange { start: 0, end: 10 }, FrameRange { start: 20, end: 30 }]);
    assert!(!report.is_fine() && !report.complete);
    assert_eq!((report.covered_frames, report.total_frames), (20, 40));
    let report = home.try_merge(Some(50)).unwrap();
    assert_eq!(home.manifest()["gaps"], json!([[0, 10], [20, 30], [40, 50]]));
    assert_eq!(report.total_frames, 50);
    assert_eq!(home.verify().differences, []);
    assert!(!home.verify().is_fine());
}

/// S24: the end that was given goes before the session's; a verification says that they differ.
#[test]
fn another_end_than_the_sessions_is_noticed() {
    let home = Home::new();
    home.put([0, 20], 1);
    home.write("session.json", r#"{"sessionId":"s","totalFrames":30,"replays":[]}"#);
    assert!(!home.merge().complete);
    let report = home.try_merge(Some(20)).unwrap();
    assert!(report.is_fine() && report.warnings.len() == 1, "{report:?}");
    assert_eq!(home.verify().differences, [Difference::TotalFrames { manifest: 20, session: 30 }]);
    assert!(matches!(home.try_merge(Some(0)), Err(MergeError::TotalFrames(0))));
}

/// S25: every kind of bad fragment is refused by name, and the others merge.
#[test]
fn bad_fragments_are_refused_and_the_others_merge() {
    let home = Home::new();
    home.put([0, 10], 1);
    let bad = |chunk: u64, text: &str| {
        home.write(&format!("manifest_fragment_W_{chunk}.json"), text);
    };
    bad(2, "not JSON");
    bad(3, r#"{"frameRange":[5,2],"globalIdChunkId":3}"#);
    bad(4, r#"{"frameRange":[5,5],"globalIdChunkId":4}"#);
    bad(5, r#"{"frameRange":[10,20],"globalIdChunkId":5,"statistics":{"persons":NaN}}"#);
    bad(6, r#"{"frameRange":[10,20],"globalIdChunkId":6,"replay":true,"replay":false}"#);
    bad(
        7,
        &format!(
            r#"{{"frameRange":[10,20],"globalIdChunkId":7,"cameras":{}{}}}"#,
            "[".repeat(128),
            "]".repeat(128)
        ),
    );
    bad(8, r#"{"frameRange":[10,20],"globalIdChunkId":9}"#);
    bad(10, r#"{"frameRange":[10,20],"globalIdChunkId":10}"#);
    home.write("manifest_fragment_V_10.json", r#"{"frameRange":[10,20],"globalIdChunkId":10}"#);
    home.write("manifest_fragment_W_011.json", r#"{"frameRange":[10,20],"globalIdChunkId":11}"#);
    home.write("manifest_fragment_a\n\u{1b}[2J_1.json", "{}");
    let report = home.merge();
    let refused: Vec<&str> = report.refusals.iter().map(|refused| refused.file.as_str()).collect();
    assert_eq!(
        refused,
        [
            "manifest_fragment_V_10.json",
            "manifest_fragment_W_011.json",
            "manifest_fragment_W_10.json",
            "manifest_fragment_W_2.json",
            "manifest_fragment_W_3.json",
            "manifest_fragment_W_4.json",
            "manifest_fragment_W_5.json",
            "manifest_fragment_W_6.json",
            "manifest_fragment_W_7.json",
            "manifest_fragment_W_8.json",
            r"manifest_fragment_a\n\u{1b}[2J_1.json",
        ]
    );
    assert!(report.complete && !report.is_fine());
    assert_eq!(home.manifest()["ranges"].as_array().unwrap().len(), 1);
    let log = fs::read_to_string(home.path("manifest_merge.log")).unwrap();
    assert!(
        refused.iter().all(|file| log.contains(&format!("refused {file}: "))) && !log.contains('\u{1b}'),
        "{log}"
    );
    assert!(!home.verify().is_fine());
}

/// S25: frames that the session does not have are refused.
#[test]
fn frames_beyond_the_end_are_refused() {
    let home = Home::new();
    home.put([0, 10], 1);
    home.put([10, 21], 2);
    let report = home.try_merge(Some(20)).unwrap();
    assert!(matches!(report.refusals[0].reason, FileRefusal::BeyondEnd { total_frames: 20, .. }));
    assert_eq!(report.gaps, [FrameRange { start: 10, end: 20 }]);
}

/// S25: nothing leads out of the directory, and nothing makes the merge wait.
#[test]
fn links_pipes_and_directories_are_refused() {
    let (home, outside) = (Home::new(), Home::new());
    home.put([0, 10], 1);
    let secret = outside.path(&outside.put([10, 20], 2));
    symlink(&secret, home.path("manifest_fragment_W_2.json")).unwrap();
    fs::create_dir(home.path("manifest_fragment_W_3.json")).unwrap();
    let pipe = home.path("manifest_fragment_W_4.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink(&secret, home.path("session.json")).unwrap();
    symlink(&secret, home.path("manifest.json")).unwrap();
    symlink(&secret, home.path("manifest_merge.log")).unwrap();
    let before = fs::read(&secret).unwrap();
    let report = home.merge();
    let refusal = |place: usize| report.refusals[place].reason.clone();
    assert_eq!(refusal(0), FileRefusal::Unreadable(Unreadable::Link));
    assert_eq!(refusal(1), FileRefusal::Unreadable(Unreadable::NotAFile));
    assert_eq!(refusal(2), FileRefusal::Unreadable(Unreadable::NotAFile));
    assert_eq!(
        (report.refusals[3].file.as_str(), refusal(3)),
        ("session.json", FileRefusal::Unreadable(Unreadable::Link))
    );
    assert_eq!(fs::read(&secret).unwrap(), before);
    assert!(fs::symlink_metadata(home.path("manifest.json")).unwrap().is_file());
}

/// S21, S25: `completions.jsonl` is not read through a link either; the fragments still merge.
#[test]
fn a_linked_completions_file_is_refused() {
    let (home, outside) = (Home::new(), Home::new());
    home.put([0, 10], 1);
    let secret = outside.path("secret");
    fs::write(&secret, r#"{"globalIdChunkId":1,"poseFiles":["secret"]}"#).unwrap();
    symlink(&secret, home.path("completions.jsonl")).unwrap();
    let report = home.merge();
    assert_eq!(report.refusals.len(), 1);
    assert_eq!(report.refusals[0].file, "completions.jsonl");
    assert_eq!(report.refusals[0].reason, FileRefusal::Unreadable(Unreadable::Link));
    assert!(report.complete && !report.is_fine());
    assert_eq!(home.manifest()["ranges"][0].get("poseFiles"), None);
}

/// S25: what was there is replaced by a rename: whoever has it open keeps the old one whole; nothing else changes.
#[test]
fn a_manifest_is_replaced_in_one_step() {
    let home = Home::new();
    home.put([0, 10], 1);
    home.write("manifest.json", "the old one");
    home.write("something else", "kept");
    fs::hard_link(home.path("manifest.json"), home.path("old")).unwrap();
    home.merge();
    assert_eq!(fs::read_to_string(home.path("old")).unwrap(), "the old one");
    let mut names: Vec<_> = fs::read_dir(home.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["manifest.json", "manifest_fragment_W_1.json", "manifest_merge.log", "old", "something else"]
    );
    // A directory in its place is not ours to remove.
    fs::remove_file(home.path("manifest.json")).unwrap();
    fs::create_dir(home.path("manifest.json")).unwrap();
    assert!(matches!(home.try_merge(None), Err(MergeError::Io { .. })));
    assert_eq!(fs::read_dir(home.path("")).unwrap().count(), 5);
}

/// S24: a verification hashes every fragment again and names what is not as it was.
#[test]
fn a_verification_names_what_differs() {
    let home = Home::new();
    let [first, second] = [home.put([0, 10], 1), home.put([10, 20], 2)];
    home.merge();
    let report = home.verify();
    assert!(report.is_fine() && report.fragments == 2, "{report:?}");
    let untouched = fs::read(home.path(&first)).unwrap();

    let spaced = [&untouched[..], b" "].concat();
    home.write(&first, spaced);
    let differences = home.verify().differences;
    assert_eq!(differences[0], Difference::Changed(first.clone()));
    assert!(matches!(differences[1], Difference::Bytes(_)));

    home.write(&first, "broken");
    let report = home.verify();
    assert!(report.differences.contains(&Difference::Changed(first.clone())) && report.refusals.len() == 1);

    fs::rename(home.path(&first), home.path("elsewhere")).unwrap();
    assert!(home.verify().differences.contains(&Difference::Missing(first.clone())));

    home.write(&first, untouched);
    let third = home.put([15, 20], 3);
    assert!(home.verify().differences.contains(&Difference::Unmerged(third.clone())));
    fs::remove_file(home.path(&third)).unwrap();
    assert!(home.verify().is_fine(), "{second}");
}

/// S24: a manifest that was edited is found out, wherever it was.
#[test]
fn an_edited_manifest_is_found_out() {
    let home = Home::new();
    home.put([0, 10], 1);
    home.put([10, 20], 2);
    home.merge();
    let path = home.path("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"persons\":2", "\"persons\":3"), ("}\n", "}\n\n"), ("}\n", "}"), ("\"W\"", "\"V\"")]
    {
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let differences = home.verify().differences;
        assert!(matches!(differences[..], [Difference::Bytes(_)]), "{to}: {differences:?}");
    }
    fs::write(&path, text.replacen("[10,20]", "[9,20]", 1)).unwrap();
    let (one, next) = (FrameRange { start: 0, end: 10 }, FrameRange { start: 9, end: 20 });
    assert!(home.verify().differences.contains(&Difference::Ranges(one, next)));
    for broken in ["", "{}", "[]", "nonsense"] {
        fs::write(&path, broken).unwrap();
        assert!(matches!(home.verify().differences[..], [Difference::NotAManifest(_)]), "{broken}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(home.verify().differences[..], [Difference::NotAManifest(_)]));
}

/// S24: a directory without anything to merge gets no manifest.
#[test]
fn a_wrong_directory_is_left_alone() {
    let home = Home::new();
    home.write("holiday.jpg", "");
    let nothing = home.try_merge(None);
    assert!(matches!(nothing, Err(MergeError::Nothing(_))));
    assert_eq!(fs::read_dir(home.path("")).unwrap().count(), 1);
    let absent = merge_directory(&home.path("absent"), &MergeOptions::default());
    assert!(matches!(absent, Err(MergeError::Directory { .. })));
    // A session of which nothing came yet is a gap, not nothing.
    home.write("session.json", r#"{"sessionId":"s","totalFrames":3,"replays":[]}"#);
    assert_eq!(home.merge().gaps, [FrameRange { start: 0, end: 3 }]);
}

/// S21: where a fragment and its name disagree on the worker, the name, which the master wrote, is taken.
#[test]
fn the_name_says_whose_it_is() {
    let home = Home::new();
    let text = r#"{"frameRange":[0,1],"globalIdChunkId":1,"workerId":"another"}"#;
    home.write("manifest_fragment_W_1.json", text);
    let report = home.merge();
    assert!(report.is_fine() && report.warnings.len() == 1);
    assert_eq!(home.manifest()["ranges"][0]["workerId"], "W");
}

/// S24: fragments nested in each other by the thousand are merged, and what is told of them has an end.
#[test]
fn many_overlaps_have_an_end() {
    let home = Home::new();
    (1..=1000).for_each(|chunk| drop(home.put([chunk, 4000 - chunk], chunk)));
    let report = home.merge();
    assert_eq!(report.overlaps.iter().map(|overlap| overlap.chunk_ids.len()).max(), Some(64));
    assert_eq!(report.replay_drops.len(), 999);
    assert!(report.warnings.iter().any(|warning| warning.warning.contains("64")));
}

/// S25: a fragment that is replaced while it is merged is not merged half and half.
#[test]
fn a_fragment_that_changes_meanwhile_stops_the_merge() {
    /// A source whose second reading differs.
    struct Fickle(Memory);

    impl Source for Fickle {
        fn count(&mut self) -> io::Result<usize> {
            self.0.count()
        }

        fn each(&mut self, take: &mut Take<'_>) -> io::Result<()> {
            self.0.each(take)
        }

        fn again(&mut self, file: &str) -> io::Result<Vec<u8>> {
            Ok([self.0.again(file)?, b" ".to_vec()].concat())
        }
    }

    let older =
        json!({"frameRange": [0, 10], "globalIdChunkId": 1, "frames": [{"frameId": 1, "timestamp": 1}]});
    let newer = json!({"frameRange": [5, 10], "globalIdChunkId": 2});
    let file = |chunk: u64, text: Value| {
        (format!("manifest_fragment_W_{chunk}.json"), text.to_string().into_bytes())
    };
    let mut source = Fickle([file(1, older), file(2, newer)].into_iter().collect());
    let merged = muster_manifest::merge(&mut source, Session::default(), &MergeOptions::default());
    assert!(matches!(merged, Err(MergeError::Changed(file)) if file == "manifest_fragment_W_1.json"));
}
