//! Any program, once per range (S27).

use super::{
    super::core::Seen,
    Broken, Commission, blocking,
    completion::{Fragment, Rendered},
    output::Output,
};
use muster_model::{FrameRange, Ratio};
use muster_worker_kit::process::{Ending, Guards, Program, base_environment, program_name as name};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A program that renders.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Its name and its arguments.
    pub argv: Vec<String>,
    /// Guards that end it with all its children.
    pub guards: Guards,
}

impl Exec {
    pub(super) async fn run(
        &self,
        commission: &Commission<'_>,
        output: &Arc<Output>,
    ) -> Result<Rendered, Broken> {
        let environment = environment(commission, output)?;
        let program = Program { argv: &self.argv, directory: output.directory(), environment };
        let progress = ProgramProgress::new(commission, output);
        let mut hear = |bytes: &[u8]| progress.hear(bytes);
        let end = tokio::select! {
            end = self.guards.run_heard(&program, commission.cancel, &mut hear) => end,
            never = progress.keep_counting() => match never {},
        };
        let end =
            end.map_err(|error| Broken::Failed(format!("cannot start {}: {error}", name(&self.argv))))?;
        match end.ending {
            Ending::Exited(0) => Ok(self.rendered(progress.dropped(), commission, output)),
            Ending::Exited(code) => {
                // The frame after the last file is the one that failed (S26b).
                progress.count().await;
                Err(Broken::Failed(end.complaint(&self.argv, code)))
            }
            Ending::Cancelled => Err(Broken::Stopped),
        }
    }

    fn rendered(&self, dropped: u64, commission: &Commission<'_>, output: &Output) -> Rendered {
        let fragment = Fragment::name(commission.worker, commission.task.ids.chunk);
        Rendered { dropped, has_fragment: output.has(&fragment), ..Rendered::default() }
    }
}

/// The progress of a program: what it prints, or else the frame files that it writes.
struct ProgramProgress<'a> {
    commission: &'a Commission<'a>,
    lines: Mutex<Lines>,
    files: Arc<Mutex<FrameFiles>>,
}

impl<'a> ProgramProgress<'a> {
    fn new(commission: &'a Commission<'a>, output: &Output) -> Self {
        let frames = commission.task.frames;
        let files = Arc::new(Mutex::new(FrameFiles::new(output.directory(), frames)));
        Self { commission, lines: Mutex::new(Lines::new(frames)), files }
    }

    fn hear(&self, bytes: &[u8]) {
        let seen = self.lines.lock().unwrap_or_else(PoisonError::into_inner).hear(bytes);
        seen.into_iter().for_each(|seen| self.commission.seen(seen));
    }

    /// Counts the files again and again; never ends by itself.
    async fn keep_counting(&self) -> Infallible {
        loop {
            tokio::time::sleep(COUNT_EVERY).await;
            self.count().await;
        }
    }

    async fn count(&self) {
        let files = Arc::clone(&self.files);
        let count = move || files.lock().unwrap_or_else(PoisonError::into_inner).count();
        // Progress is only a hint: the program goes on without it.
        let Ok(leading) = blocking(count).await else { return };
        let seen = self.lines.lock().unwrap_or_else(PoisonError::into_inner).count_files(leading);
        seen.into_iter().for_each(|seen| self.commission.seen(seen));
    }

    fn dropped(&self) -> u64 {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).seen().dropped
    }
}

/// A clean environment, and what the program must know of its task.
fn environment(commission: &Commission<'_>, output: &Output) -> Result<Vec<(OsString, OsString)>, Broken> {
    let task = commission.task;
    let mut environment = base_environment();
    let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
    set("MUSTER_TASK_ID", (&*task.id).into());
    set("MUSTER_SESSION_ID", (&*task.session).into());
    set("MUSTER_FRAME_START", task.frames.start.to_string().into());
    set("MUSTER_FRAME_END", task.frames.end.to_string().into());
    set("MUSTER_CHUNK_ID", task.ids.chunk.to_string().into());
    set("MUSTER_ID_START", task.ids.start.to_string().into());
    set("MUSTER_ID_END", task.ids.end.to_string().into());
    set("MUSTER_OUTPUT_DIR", output.directory().into());
    set("MUSTER_WORKER_ID", commission.worker.into());
    if task.scenario.as_str().len() <= SCENARIO_BYTES_MAX {
        set("MUSTER_SCENARIO", task.scenario.as_str().into());
    } else {
        output.write(SCENARIO_FILE, task.scenario.as_str().as_bytes())?;
        set("MUSTER_SCENARIO_FILE", output.directory().join(SCENARIO_FILE).into());
    }
    Ok(environment)
}

/// Listens to a program.
#[derive(Debug)]
pub(super) struct Lines {
    frames: FrameRange,
    line: Vec<u8>,
    seen: Seen,
    /// True if the program prints its frames itself.
    prints_frames: bool,
}

impl Lines {
    pub(super) fn new(frames: FrameRange) -> Self {
        Self { frames, line: Vec::new(), seen: Seen::default(), prints_frames: false }
    }

    /// Takes what was printed; tells how far the program is, if it said something about that.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Option<Seen> {
        let before = self.seen;
        for byte in bytes {
            match byte {
                b'\n' => self.understand(),
                // The rest of a line that is too long for any of these is passed over.
                _ if self.line.len() > LINE_BYTES_MAX => {}
                byte => self.line.push(*byte),
            }
        }
        (self.seen != before).then_some(self.seen)
    }

    /// Takes the number of leading frames that have a file; tells how far the program is, if that is news. What the
    /// program prints counts for more: only the program knows when a file is complete.
    pub(super) fn count_files(&mut self, leading: u64) -> Option<Seen> {
        if self.prints_frames || leading <= self.seen.processed {
            return None;
        }
        self.seen.processed = leading;
        self.seen.last_frame = Some(self.frames.start + leading - 1);
        Some(self.seen)
    }

    /// Its progress.
    pub(super) const fn seen(&self) -> Seen {
        self.seen
    }

    fn understand(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = str::from_utf8(&line).unwrap_or_default();
        let mut words = text.split_ascii_whitespace();
        let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else { return };
        match key {
            "frame" => self.frame_done(value.parse().ok()),
            "dropped" => {
                self.seen.dropped = value.parse().unwrap_or(self.seen.dropped).min(self.frames.len())
            }
            "queue" => self.seen.queue = ratio(value).unwrap_or(self.seen.queue),
            "gpu" => self.seen.gpu = ratio(value).unwrap_or(self.seen.gpu),
            _ => {}
        }
    }

    fn frame_done(&mut self, frame: Option<u64>) {
        let inside = frame.filter(|frame| (self.frames.start..self.frames.end).contains(frame));
        if let Some(frame) = inside {
            if !std::mem::replace(&mut self.prints_frames, true) {
                (self.seen.processed, self.seen.last_frame) = (0, None);
            }
            self.seen.processed = self.seen.processed.max(frame - self.frames.start + 1);
            self.seen.last_frame = self.seen.last_frame.max(Some(frame));
        }
    }
}

fn ratio(text: &str) -> Option<Ratio> {
    Ratio::new(text.parse().ok()?)
}

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

/// Linux takes no longer text in an environment than 128 KiB.
const SCENARIO_BYTES_MAX: usize = 100 << 10;
/// As often as progress is told.
const COUNT_EVERY: Duration = Duration::from_secs(1);
const SCENARIO_FILE: &str = "scenario.json";
const LINE_BYTES_MAX: usize = 256;
/// Directory of frames.
const FRAMES: &str = "frames";
/// Endings of files that are being written.
const TEMPORARY: [&str; 3] = [".part", ".tmp", "~"];

#[cfg(test)]
mod tests {
    use super::*;

    /// S27: lines are understood however they arrive, and what is none of these is passed over.
    #[test]
    fn progress_is_heard() {
        let mut lines = Lines::new(FrameRange { start: 100, end: 200 });
        assert_eq!(lines.hear(b"loading scene\nfra"), None);
        assert_eq!(lines.hear(b"me 104\r\nqueue 0.5\n").map(|seen| seen.processed), Some(5));
        assert_eq!((lines.seen().last_frame, lines.seen().queue), (Some(104), Ratio(500_000)));
        let noise = b"frame 99\nframe 200\nframe x\nframe 105 106\nframe\n\xff\xfe\ndropped -1\nqueue NaN\n";
        assert_eq!(lines.hear(noise), None);
        assert_eq!(lines.hear(b"dropped 3\ngpu 0.93\nframe 102\n").map(|seen| seen.dropped), Some(3));
        assert_eq!((lines.seen().processed, lines.seen().gpu), (5, Ratio(930_000)));
        lines.hear(&[b'x'; 1_000_000]);
        assert!(lines.line.len() <= LINE_BYTES_MAX + 1);
        assert_eq!(lines.hear(b"\nframe 199\n").map(|seen| seen.processed), Some(100));
    }

    /// S26b, S27: files tell how far a program is that does not say so itself.
    #[test]
    fn files_count_until_the_program_speaks() {
        let mut lines = Lines::new(FrameRange { start: 100, end: 200 });
        assert_eq!(lines.count_files(0), None);
        let seen = lines.count_files(3).map(|seen| (seen.processed, seen.last_frame));
        assert_eq!(seen, Some((3, Some(102))));
        assert_eq!(lines.count_files(3), None);
        assert_eq!(lines.hear(b"frame 101\n").map(|seen| seen.processed), Some(2));
        assert_eq!(lines.count_files(4), None);
    }

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
