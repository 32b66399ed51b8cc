//! The progress of a program that prints none: files in `frames/`, each named by its frame (S21).

use muster_model::FrameRange;
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Counts the frames of a range that have a file.
#[derive(Debug)]
pub(super) struct FrameFiles {
    directory: PathBuf,
    frames: FrameRange,
    /// Frames from the beginning of the range without a gap that had a file.
    leading: u64,
}

impl FrameFiles {
    pub(super) fn new(output: &Path, frames: FrameRange) -> Self {
        Self { directory: output.join(FRAMES), frames, leading: 0 }
    }

    /// Looks again. Returns the number of frames done before the first one that is not.
    pub(super) fn count(&mut self) -> u64 {
        let first = self.frames.start + self.leading;
        let Ok(entries) = fs::read_dir(&self.directory) else { return self.leading };
        let is_new = |frame: &u64| (first..self.frames.end).contains(frame);
        let done: BTreeSet<u64> = entries
            .flatten()
            .filter_map(|entry| frame_of(&entry.file_name()).filter(is_new).map(|frame| (frame, entry)))
            // An empty file was opened, and nothing was written to it yet.
            .filter(|(_, entry)| entry.metadata().is_ok_and(|file| file.is_file() && file.len() > 0))
            .map(|(frame, _)| frame)
            .collect();
        self.leading +=
            (first..).zip(&done).take_while(|(expected, frame)| expected == *frame).count() as u64;
        self.leading
    }
}

/// The frame that a file belongs to: the number that its name begins with. Files under a temporary name do not count.
fn frame_of(name: &OsStr) -> Option<u64> {
    let name = name.to_str()?;
    if TEMPORARY.iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    let digits = name.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(name.len());
    name.get(..digits)?.parse().ok()
}

/// Where renderers leave frames.
const FRAMES: &str = "frames";
/// Endings of files that are being written.
const TEMPORARY: [&str; 3] = [".part", ".tmp", "~"];

#[cfg(test)]
mod tests {
    use super::*;

    /// S26b, S27: the frames before the first one without a file are done, whatever else lies beside them.
    #[test]
    fn frames_are_counted_up_to_the_first_gap() {
        let place = tempfile::tempdir().unwrap();
        let mut files = FrameFiles::new(place.path(), FrameRange { start: 100, end: 110 });
        assert_eq!(files.count(), 0, "there is no directory yet");
        fs::create_dir_all(place.path().join("frames/00000103.png")).unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join("frames").join(name), text).unwrap();
        for name in ["00000100.png", "00000101_left.png", "00000101_right.png", "00000104.png", "99.png"] {
            write(name, "x");
        }
        for name in ["00000102.png.part", "102.tmp", "readme.txt", "00000110.png", "99999999999999999999.png"]
        {
            write(name, "x");
        }
        write("00000102.png", "");
        assert_eq!(files.count(), 2);
        write("00000102.png", "x");
        assert_eq!(files.count(), 3, "103 is a directory");
        fs::remove_dir(place.path().join("frames/00000103.png")).unwrap();
        write("103.png", "x");
        assert_eq!(files.count(), 5);
        (105..110).for_each(|frame| write(&format!("{frame}.png"), "x"));
        assert_eq!(files.count(), 10);
        assert_eq!(files.count(), 10);
    }
}
