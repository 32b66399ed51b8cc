//! `audit.jsonl`: what lies in an entry of the quarantine, a line per file (S15).
//!
//! It is shown whole or not at all, so a crash leaves the one before. A file that changed since gets another line; the
//! last one counts. A file of that name which does not begin with a line about this entry is a worker's own: it is
//! given another name and audited like the rest.

use super::{
    directory::Directory,
    entry::Entry,
    error::OutputError,
    moving::rename_fresh,
    part::{Part, Parts},
    walk::{Found, Special, hex, walk},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    io::{self, BufRead, BufReader},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// Writes down every file of an entry that is not written down yet; says how many it holds.
pub(super) fn update(parts: &Parts, directory: &Directory, entry: &Entry) -> Result<u64, OutputError> {
    let mut audit = Audit::open(parts, directory, entry)?;
    let mut files = 0;
    if let Some(contents) = entry.contents(directory)? {
        walk(&contents, &mut |found| {
            if !audit.is_itself(&found) {
                files += 1;
                audit.note(&found)?;
            }
            Ok(())
        })?;
    }
    audit.show()?;
    Ok(files)
}

/// Writes down a file that is about to be moved to an entry: who dies in between finds it where it was.
pub(super) fn announce(
    parts: &Parts,
    directory: &Directory,
    entry: &Entry,
    found: &Found,
) -> Result<(), OutputError> {
    let mut audit = Audit::open(parts, directory, entry)?;
    audit.note(found)?;
    audit.show()
}

/// An audit that is being written.
struct Audit<'a> {
    parts: &'a Parts,
    directory: &'a Directory,
    entry: &'a Entry,
    known: Known,
    /// Begun with the first line that is new.
    part: Option<Part<'a>>,
}

impl<'a> Audit<'a> {
    fn open(parts: &'a Parts, directory: &'a Directory, entry: &'a Entry) -> Result<Self, OutputError> {
        Ok(Self { parts, directory, entry, known: Known::read(directory, entry)?, part: None })
    }

    fn is_itself(&self, found: &Found) -> bool {
        self.entry.prefix().join(&found.path) == Path::new(FILE)
    }

    fn note(&mut self, found: &Found) -> Result<(), OutputError> {
        let line = Line::new(self.entry, found);
        let text = line.to_text();
        if self.known.latest.get(&line.key()) == Some(&text) {
            return Ok(());
        }
        let part = match &mut self.part {
            Some(part) => part,
            None => self.part.insert(self.known.begin(self.parts, self.directory)?),
        };
        part.write(text.as_bytes())
    }

    fn show(self) -> Result<(), OutputError> {
        match self.part {
            None => Ok(()),
            Some(part) if self.known.is_there => part.replace(self.directory, FILE),
            Some(part) => part.show(self.directory, FILE),
        }
    }
}

/// One file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    /// Relative to the audit's directory.
    path: String,
    /// The path's bytes in hexadecimal digits, where they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    size: u64,
    sha256: Option<String>,
    /// What it is, where it is no plain file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Where a link leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    entry: String,
    output: String,
    worker: String,
}

/// What tells files apart.
type Key = (String, Option<String>);

impl Line {
    fn new(entry: &Entry, found: &Found) -> Self {
        let path = entry.prefix().join(&found.path);
        let (kind, target) = match &found.special {
            None => (None, None),
            Some(Special::Link(text)) => (Some("symlink"), Some(text.clone())),
            Some(Special::Device) => (Some("device"), None),
            Some(Special::Depths) => (Some("directory"), None),
        };
        Self {
            path_bytes: path.to_str().is_none().then(|| hex(path.as_os_str().as_bytes())),
            path: path.to_string_lossy().into_owned(),
            size: found.size,
            sha256: found.sha256.clone(),
            kind: kind.map(str::to_owned),
            target,
            entry: entry.id().to_owned(),
            output: entry.output().to_owned(),
            worker: entry.worker_name().to_owned(),
        }
    }

    fn key(&self) -> Key {
        (self.path.clone(), self.path_bytes.clone())
    }

    fn to_text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("texts and numbers become JSON");
        text.push('\n');
        text
    }
}

/// What was written down before.
#[derive(Debug, Default)]
struct Known {
    is_there: bool,
    latest: HashMap<Key, String>,
}

impl Known {
    /// Reads the audit; whatever else has its name is set aside.
    fn read(directory: &Directory, entry: &Entry) -> Result<Self, OutputError> {
        if directory.look(FILE)?.is_none() {
            return Ok(Self::default());
        }
        // A link, a pipe or a directory is no audit of ours either.
        if let Ok(Some(file)) = directory.file(FILE)
            && let Some(known) = Self::parse(file, entry)
                .map_err(|error| OutputError::disk("read", directory.path_of(FILE), error))?
        {
            return Ok(known);
        }
        rename_fresh((directory, OsStr::new(FILE)), directory, |n| format!("{FILE}.late_{}", n + 1))?;
        Ok(Self::default())
    }

    fn parse(file: File, entry: &Entry) -> io::Result<Option<Self>> {
        let mut latest = HashMap::new();
        let mut reader = BufReader::new(file);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes)? > 0 {
            let line = serde_json::from_slice::<Line>(&bytes).ok();
            match line {
                Some(line) if entry.shares_audit_with(&line.entry) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    latest.insert(line.key(), text);
                }
                // Whatever a person wrote in between stays as it is.
                _ if !latest.is_empty() => {}
                _ => return Ok(None),
            }
            bytes.clear();
        }
        Ok((!latest.is_empty()).then_some(Self { is_there: true, latest }))
    }

    /// Begins the audit anew, with all that it said before.
    fn begin<'a>(&self, parts: &'a Parts, directory: &Directory) -> Result<Part<'a>, OutputError> {
        let mut part = parts.begin()?;
        let old = if self.is_there { directory.file(FILE)? } else { None };
        let Some(old) = old else { return Ok(part) };
        let mut reader = BufReader::with_capacity(COPY_BYTES, old);
        let mut last = b'\n';
        loop {
            let failed = |error| OutputError::disk("read", directory.path_of(FILE), error);
            let bytes = reader.fill_buf().map_err(failed)?;
            let Some(end) = bytes.last() else { break };
            last = *end;
            part.write(bytes)?;
            let length = bytes.len();
            reader.consume(length);
        }
        if last != b'\n' {
            part.write(b"\n")?;
        }
        Ok(part)
    }
}

const FILE: &str = "audit.jsonl";
const COPY_BYTES: usize = 256 * 1024;
