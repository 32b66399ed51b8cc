//! `audit.jsonl`: the content of an entry of the quarantine, a line per file (S15).
//!
//! It is shown whole or not at all, so a crash leaves the one before. A file that changed since gets another line; the
//! last one counts. A file of that name which does not begin with a line about this entry is a worker's own: it is
//! given another name and audited like the rest.

use super::{
    OutputError,
    directory::{Directory, Seen},
    part::{Part, Parts},
    quarantine::Entry,
};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
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
    found: &AuditedFile,
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
    known: WrittenAudit,
    /// Begun with the first line that is new.
    part: Option<Part<'a>>,
}

impl<'a> Audit<'a> {
    fn open(parts: &'a Parts, directory: &'a Directory, entry: &'a Entry) -> Result<Self, OutputError> {
        Ok(Self { parts, directory, entry, known: WrittenAudit::read(directory, entry)?, part: None })
    }

    fn is_itself(&self, found: &AuditedFile) -> bool {
        self.entry.prefix().join(&found.path) == Path::new(FILE)
    }

    fn note(&mut self, found: &AuditedFile) -> Result<(), OutputError> {
        let line = AuditLine::new(self.entry, found);
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
struct AuditLine {
    /// Relative to the audit's directory.
    path: String,
    /// The path's bytes in hexadecimal digits, where they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    size: u64,
    sha256: Option<String>,
    /// The word for what is no plain file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The target of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    entry: String,
    output: String,
    worker: String,
}

/// The key of a file.
type Key = (String, Option<String>);

impl AuditLine {
    fn new(entry: &Entry, found: &AuditedFile) -> Self {
        let path = entry.prefix().join(&found.path);
        Self {
            path_bytes: path.to_str().is_none().then(|| hex(path.as_os_str().as_bytes())),
            path: path.to_string_lossy().into_owned(),
            size: found.size,
            sha256: found.sha256.clone(),
            kind: found.kind.map(str::to_owned),
            target: found.target.clone(),
            entry: entry.id.clone(),
            output: entry.output.clone(),
            worker: entry.worker.clone(),
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

/// The audit as it was written before.
#[derive(Debug, Default)]
struct WrittenAudit {
    is_there: bool,
    latest: HashMap<Key, String>,
}

impl WrittenAudit {
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
        directory.entry(FILE).rename_fresh(directory, |n| format!("{FILE}.late_{}", n + 1))?;
        Ok(Self::default())
    }

    fn parse(file: File, entry: &Entry) -> io::Result<Option<Self>> {
        let mut latest = HashMap::new();
        let mut reader = BufReader::new(file);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes)? > 0 {
            let line = serde_json::from_slice::<AuditLine>(&bytes).ok();
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

/// A file as it was found.
#[derive(Debug)]
pub(super) struct AuditedFile {
    /// Relative to where the walk began.
    path: PathBuf,
    /// In bytes.
    size: u64,
    /// In lower-case hexadecimal digits; none where there is nothing to read.
    sha256: Option<String>,
    /// The word for what is no plain file.
    kind: Option<&'static str>,
    /// The text of a symbolic link, which was not followed.
    target: Option<String>,
}

/// Takes each file.
type Visit<'a> = &'a mut dyn FnMut(AuditedFile) -> Result<(), OutputError>;

/// Shows every file below a directory, in the order of their names.
fn walk(directory: &Directory, visit: Visit<'_>) -> Result<(), OutputError> {
    descend(directory, Path::new(""), DEPTH_MAX, visit)
}

fn descend(directory: &Directory, path: &Path, depth: u32, visit: Visit<'_>) -> Result<(), OutputError> {
    for name in directory.names()? {
        // A worker that still writes may take something away; what is not there need not be kept.
        let Some(seen) = directory.look(&name)? else { continue };
        let path = path.join(&name);
        if seen.kind == FileType::Directory && depth > 0 {
            if let Some(below) = directory.child(&name)? {
                descend(&below, &path, depth - 1, visit)?;
            }
        } else if let Some(found) = look_at(directory, &name, seen, path)? {
            visit(found)?;
        }
    }
    Ok(())
}

/// One file that is no directory to enter; none where it went away. `path` is what it will be called.
pub(super) fn look_at(
    directory: &Directory,
    name: &OsStr,
    seen: Seen,
    path: PathBuf,
) -> Result<Option<AuditedFile>, OutputError> {
    let mut found = AuditedFile { path, size: 0, sha256: None, kind: None, target: None };
    match seen.kind {
        FileType::RegularFile => {
            let Some(file) = directory.file(name)? else { return Ok(None) };
            let (size, hash) =
                hash(file).map_err(|error| OutputError::disk("read", directory.path_of(name), error))?;
            (found.size, found.sha256) = (size, Some(hash));
        }
        FileType::Symlink => {
            let text = directory.link(name)?;
            (found.size, found.sha256) = (text.len() as u64, Some(hex(&Sha256::digest(text.as_bytes()))));
            (found.kind, found.target) = (Some("symlink"), Some(text.to_string_lossy().into_owned()));
        }
        // So deep that it was not entered.
        FileType::Directory => found.kind = Some("directory"),
        // A pipe or a socket, too.
        _ => found.kind = Some("device"),
    }
    Ok(Some(found))
}

/// Size and hash of what the file held when it was opened: whoever still appends to it does not hold up the audit.
fn hash(file: File) -> io::Result<(u64, String)> {
    let length = file.metadata()?.len();
    let mut buffer = vec![0; usize::try_from(length).map_or(BUFFER_BYTES, |length| length.min(BUFFER_BYTES))];
    let (mut content, mut hasher, mut size) = (file.take(length), Sha256::new(), 0);
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok((size, hex(&hasher.finalize()))),
            length => {
                hasher.update(&buffer[..length]);
                size += length as u64;
            }
        }
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const FILE: &str = "audit.jsonl";
const COPY_BYTES: usize = 256 * 1024;

const BUFFER_BYTES: usize = 256 * 1024;
/// Each level holds a directory open; no renderer nests this deep.
const DEPTH_MAX: u32 = 64;
