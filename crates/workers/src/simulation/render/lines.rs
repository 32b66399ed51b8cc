//! What a program says of its progress: lines on its standard output.
//!
//! `frame N` (the frames up to and including N are done), `dropped N` (N frames were left out so far), `queue R` and `gpu R` (how full, how busy;
//! 0 to 1). Everything else is the program's own business.

use super::super::core::Seen;
use muster_model::{FrameRange, Ratio};

/// Listens to a program.
#[derive(Debug)]
pub(super) struct Lines {
    frames: FrameRange,
    line: Vec<u8>,
    seen: Seen,
    /// Whether the program prints its frames itself.
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

    /// How far it is.
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

const LINE_BYTES_MAX: usize = 256;

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
}
