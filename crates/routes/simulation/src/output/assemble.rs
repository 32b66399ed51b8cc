//! All frames of a session in one directory, in order: `<outputDirectory>/frames/` (S26c).
//!
//! Each name is a hard link to a file of the chunk that counts, or a copy where the file system has no hard links. Doing it
//! again puts right what has changed since: a chunk that was rendered again replaces the files of the one before.

use super::{
    OutputError, OutputRoot, PathFault,
    directory::{Directory, EntryName},
    fragment::CHUNKS,
    part::Parts,
    session::{AcceptedRange, SessionFiles},
};
use muster_manifest::FragmentName;
use muster_model::FrameRange;
use rustix::{fs::FileType, io::Errno};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::{OsStr, OsString},
    io::Read,
};

/// A file of a frame, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FrameFile<'a> {
    /// The directory it is in, one of a list.
    directory: usize,
    /// Its name there.
    name: &'a str,
    /// The text before the number: the directories of the chunk that lead to it, and the letters before it.
    before: String,
    /// The text behind the number.
    after: &'a str,
}

impl OutputRoot {
    /// Puts the frames of the ranges that count into one directory, and says how many files it has.
    ///
    /// # Errors
    /// If something that is no directory of ours is in the way, or the disk refuses.
    pub fn assemble(
        &self,
        files: &SessionFiles,
        accepted: &HashMap<u64, AcceptedRange>,
    ) -> Result<u64, OutputError> {
        let frames = self.make_session_directory(&files.output, FRAMES)?;
        let stale = frames.names()?.into_iter().filter(|name| is_ours(name)).collect();
        let mut assembly = Assembly { parts: self.parts(), frames, stale, count: 0 };
        if let Some(chunks) = self.session_directory(&files.output, CHUNKS)? {
            for (chunk, accepted) in accepted {
                // A worker may deliver a range without files of its own.
                if let Some(directory) = chunks.child(chunk.to_string())? {
                    assembly.add_chunk(&directory, accepted.range)?;
                }
            }
        }
        assembly.finish()
    }
}

impl OutputRoot {
    /// Checks that a new session's directory has no frames of somebody else, which assembly would replace.
    pub(super) fn check_no_frames(&self, output: &str) -> Result<(), OutputError> {
        let Some(frames) = self.session_directory(output, FRAMES)? else { return Ok(()) };
        match frames.names()?.iter().any(|name| is_ours(name)) {
            true => Err(OutputError::Path { path: output.to_owned(), fault: PathFault::HasFrames }),
            false => Ok(()),
        }
    }
}

/// The directory of all frames while it is put in order.
struct Assembly<'a> {
    parts: &'a Parts,
    frames: Directory,
    /// Names of ours that no chunk has claimed yet.
    stale: HashSet<OsString>,
    count: u64,
}

impl Assembly<'_> {
    fn add_chunk(&mut self, directory: &Directory, range: FrameRange) -> Result<(), OutputError> {
        let mut chunk = ChunkFiles::default();
        chunk.scan(directory, &[])?;
        for (frame, files) in chunk.by_frame(range) {
            for (file, name) in files.iter().zip(names_of(frame, &files)) {
                self.stale.remove(OsStr::new(&name));
                let below = chunk.open(directory, file.directory);
                let brought = below.and_then(|below| match &below {
                    Some(directory) => self.bring_in(directory.entry(file.name), &name),
                    None => Ok(false),
                });
                match brought {
                    Ok(is_there) => self.count += u64::from(is_there),
                    // One file must not cost the others.
                    Err(error) => tracing::warn!(%error, "a file of a frame is left out of frames/"),
                }
            }
        }
        Ok(())
    }

    /// Gives a file a name among the frames; false if it is no plain file (any more).
    fn bring_in(&self, source: EntryName<'_>, name: &str) -> Result<bool, OutputError> {
        let plain = |directory: &Directory, name: &OsStr| {
            directory.look(name).map(|seen| seen.filter(|seen| seen.kind == FileType::RegularFile))
        };
        let Some(ours) = plain(source.directory, source.name)? else { return Ok(false) };
        match self.frames.look(name)? {
            Some(there) if there.identity == ours.identity => return Ok(true),
            Some(there) if there.kind == FileType::Directory => {
                return Err(self.frames.in_the_way(name, "a frame's file"));
            }
            Some(_) => self.frames.remove(name)?,
            None => {}
        }
        match source.link(self.frames.entry(name)) {
            // Remove the link if a worker has meanwhile put something else in the file's place.
            Ok(()) if plain(&self.frames, OsStr::new(name))?.is_none() => {
                self.frames.remove(name).map(|()| false)
            }
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(Errno::XDEV | Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS) => {
                self.copy(source, name)
            }
            Err(error) => Err(OutputError::disk("link", self.frames.path_of(name), error)),
        }
    }

    fn copy(&self, source: EntryName<'_>, name: &str) -> Result<bool, OutputError> {
        let Some(mut file) = source.directory.file(source.name)? else { return Ok(false) };
        let mut part = self.parts.begin()?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let failed = |error| OutputError::disk("read", source.directory.path_of(source.name), error);
            match file.read(&mut buffer).map_err(failed)? {
                0 => break,
                length => part.write(&buffer[..length])?,
            }
        }
        part.replace(&self.frames, name)?;
        Ok(true)
    }

    /// Takes away the names of chunks that count no more, and makes the rest durable.
    fn finish(self) -> Result<u64, OutputError> {
        for name in &self.stale {
            let seen = self.frames.look(name)?;
            if seen.is_some_and(|seen| seen.kind != FileType::Directory) {
                self.frames.remove(name)?;
            }
        }
        self.frames.sync()?;
        Ok(self.count)
    }
}

/// The files of a chunk. Directories are kept by path: a chunk may have more of them than a process may open.
#[derive(Default)]
struct ChunkFiles {
    directories: Vec<Vec<String>>,
    /// The index of the directory, and the file's name.
    files: Vec<(usize, String)>,
}

impl ChunkFiles {
    fn scan(&mut self, directory: &Directory, path: &[String]) -> Result<(), OutputError> {
        let place = self.directories.len();
        self.directories.push(path.to_vec());
        for name in directory.names()? {
            // Names that nobody can read, hidden files and fragments are no frames.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            match directory.look(name)?.map(|seen| seen.kind) {
                Some(FileType::RegularFile) if FragmentName::parse(name).is_none() => {
                    self.files.push((place, name.to_owned()));
                }
                Some(FileType::Directory) if path.len() < DEPTH_MAX => {
                    if let Some(below) = directory.child(name)? {
                        self.scan(&below, &[path, &[name.to_owned()]].concat())?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens one of the directories again; `None` if it is gone.
    fn open(&self, chunk: &Directory, index: usize) -> Result<Option<Directory>, OutputError> {
        let path: Vec<&str> = self.directories[index].iter().map(String::as_str).collect();
        chunk.descend(&path)
    }

    /// The files by frame; a file that names no frame of the range is none.
    fn by_frame(&self, range: FrameRange) -> BTreeMap<u64, Vec<FrameFile<'_>>> {
        let mut frames: BTreeMap<u64, Vec<FrameFile<'_>>> = BTreeMap::new();
        for (directory, name) in &self.files {
            if let Some((frame, before, after)) = split_at_frame(name, range) {
                let path = &self.directories[*directory];
                let before = path.iter().map(String::as_str).chain([before]).collect::<Vec<_>>().join("_");
                frames.entry(frame).or_default().push(FrameFile {
                    directory: *directory,
                    name,
                    before,
                    after,
                });
            }
        }
        frames
    }
}

/// The frame that a file's name holds, and what stands before and behind it. Of several numbers that may be meant, it is the
/// one with the most digits, and of those the first: `cam1_0333.png` is of frame 333.
fn split_at_frame(name: &str, range: FrameRange) -> Option<(u64, &str, &str)> {
    let mut best: Option<(usize, u64, usize)> = None;
    let mut at = 0;
    while let Some(start) = name[at..].find(|c: char| c.is_ascii_digit()).map(|offset| at + offset) {
        let digits = name[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len() - start);
        at = start + digits;
        let frame = name[start..at].parse().ok().filter(|frame| (range.start..range.end).contains(frame));
        if let Some(frame) = frame
            && best.is_none_or(|(most, ..)| digits > most)
        {
            best = Some((digits, frame, start));
        }
    }
    best.map(|(digits, frame, start)| (frame, &name[..start], &name[start + digits..]))
}

/// Names the files of one frame: the number with the file's own ending; several keep what follows the number, and
/// where that is the same, what stands before it too.
fn names_of(frame: u64, files: &[FrameFile<'_>]) -> Vec<String> {
    if let [file] = files {
        return vec![format!("{frame:08}{}", ending(file.after))];
    }
    let mut alike: HashMap<&str, usize> = HashMap::new();
    files.iter().for_each(|file| *alike.entry(file.after).or_default() += 1);
    let (mut taken, mut next) = (HashSet::new(), HashMap::new());
    let name = |file: &FrameFile<'_>| {
        let before = file.before.trim_end_matches(['_', '-', '.']);
        let name = match alike[file.after] == 1 || before.is_empty() {
            true => format!("{frame:08}{}", file.after),
            false => format!("{frame:08}_{before}{}", file.after),
        };
        let number: &mut usize = next.entry(name.clone()).or_default();
        loop {
            *number += 1;
            let fresh = if *number == 1 { name.clone() } else { format!("{name}.{number}") };
            if taken.insert(fresh.clone()) {
                return fresh;
            }
        }
    };
    files.iter().map(name).collect()
}

/// From the first dot on if nothing stands before it, otherwise from the last: `.tar.gz` of `7.tar.gz`, `.png` of `7_a.b.png`.
fn ending(after: &str) -> &str {
    match after.starts_with('.') {
        true => after,
        false => after.rfind('.').map_or("", |dot| &after[dot..]),
    }
}

/// Returns true if a name is one that is given here.
fn is_ours(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.get(..8))
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The directory of all frames.
pub(super) const FRAMES: &str = "frames";
const BUFFER_BYTES: usize = 256 * 1024;
const DEPTH_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'a>(before: &str, after: &'a str) -> FrameFile<'a> {
        FrameFile { directory: 0, name: "", before: before.to_owned(), after }
    }

    /// S26c: the number of the frame is found in any usual spelling, and only if the range has it.
    #[test]
    fn a_name_tells_its_frame() {
        let range = FrameRange { start: 0, end: 1000 };
        for (name, frame) in [
            ("333.png", Some((333, "", ".png"))),
            ("frame_00000333.png", Some((333, "frame_", ".png"))),
            ("cam1_0333.png", Some((333, "cam1_", ".png"))),
            ("0333_cam1.png", Some((333, "", "_cam1.png"))),
            ("7", Some((7, "", ""))),
            ("99999999999999999999.png", None),
            ("1000.png", None),
            ("notes.txt", None),
        ] {
            assert_eq!(split_at_frame(name, range), frame, "{name}");
        }
    }

    /// S26c: where there are no hard links, a frame is a copy.
    #[test]
    fn a_frame_may_be_a_copy() {
        let place = tempfile::tempdir().unwrap();
        let root = OutputRoot::open(place.path()).unwrap();
        let directory = root.root().make("from").unwrap();
        std::fs::write(place.path().join("from/7.png"), "seven").unwrap();
        let frames = root.root().make("frames").unwrap();
        let assembly = Assembly { parts: root.parts(), frames, stale: HashSet::new(), count: 0 };
        assert!(assembly.copy(directory.entry("7.png"), "00000007.png").unwrap());
        assert_eq!(std::fs::read(place.path().join("frames/00000007.png")).unwrap(), b"seven");
        assert!(!assembly.copy(directory.entry("8.png"), "00000008.png").unwrap());
    }

    /// S26c: 8 digits and the file's own ending; several files of one frame keep what follows the number.
    #[test]
    fn frames_are_named_by_their_number() {
        assert_eq!(names_of(333, &[file("frame_", "_final.png")]), ["00000333.png"]);
        assert_eq!(names_of(333, &[file("", ".tar.gz")]), ["00000333.tar.gz"]);
        assert_eq!(names_of(7, &[file("", ".png"), file("", ".json")]), ["00000007.png", "00000007.json"]);
        let cameras = [file("", "_cam1.png"), file("", "_cam2.png")];
        assert_eq!(names_of(7, &cameras), ["00000007_cam1.png", "00000007_cam2.png"]);
        let directories = [file("left_", ".png"), file("right_", ".png")];
        assert_eq!(names_of(7, &directories), ["00000007_left.png", "00000007_right.png"]);
        let same = [file("a_", ".png"), file("a-", ".png")];
        assert_eq!(names_of(7, &same), ["00000007_a.png", "00000007_a.png.2"]);
        let clash = [file("a_", ".png"), file("a-", ".png"), file("", "_a.png.2")];
        assert_eq!(names_of(7, &clash), ["00000007_a.png", "00000007_a.png.2", "00000007_a.png.2.2"]);
    }
}
