//! The ground all roles stand on: files that are whole, in exactly one state, and valid (C3–C6, C12).

mod cleanup;

pub(crate) use cleanup::{TEMPORARY_AGE_MAX, modified, sentence};

use crate::{
    Document, DocumentError, FILE_BYTES_MAX, HELD_BYTES_MAX, Id, Kind, Place,
    disk::{Disk, Fuse, Operation},
    layout::OTHERS,
    schema,
    sequence::Sequences,
};
use rustix::fs::{Mode, OFlags};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A court's directory.
pub struct Folder {
    home: PathBuf,
    /// Read-only: directories that do not exist count as empty.
    only_looks: bool,
    pub(crate) disk: Disk,
    pub(crate) sequences: Sequences,
}

/// The reason why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// There is none, or not any more.
    #[error("there is no {0}")]
    Gone(String),
    /// It is not what it must be.
    #[error("{0}")]
    Invalid(String),
    /// The system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, #[source] io::Error),
}

impl Folder {
    /// Opens a court; makes the directories that are missing (C1).
    pub fn open(home: &Path) -> Result<Self, Fault> {
        Self::with_disk(home, Disk::default())
    }

    /// Opens a court for whoever only looks: nothing is made, and nothing can be changed through here (C21).
    pub fn look(home: &Path) -> Result<Self, Fault> {
        let disk = Disk::with_fuse(Arc::new(Sealed));
        Ok(Self { only_looks: true, ..Self::at(home, disk)? })
    }

    /// Opens a court whose disk can be made to fail.
    pub fn with_fuse(home: &Path, fuse: Arc<dyn Fuse>) -> Result<Self, Fault> {
        Self::with_disk(home, Disk::with_fuse(fuse))
    }

    fn with_disk(home: &Path, disk: Disk) -> Result<Self, Fault> {
        let folder = Self::at(home, disk)?;
        for path in Place::all().map(Place::path).chain(OTHERS) {
            let path = folder.path(path);
            folder.disk.make_directory(&path).map_err(|error| Fault::Io(path.clone(), error))?;
        }
        Ok(folder)
    }

    fn at(home: &Path, disk: Disk) -> Result<Self, Fault> {
        let failed = |error| Fault::Io(home.into(), error);
        let home = std::path::absolute(home).map_err(failed)?;
        Ok(Self { home, only_looks: false, disk, sequences: Sequences::default() })
    }

    /// The court's home.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A path under the court's home.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        self.home.join(relative)
    }

    /// The directory of a place.
    #[must_use]
    pub fn directory(&self, place: Place) -> PathBuf {
        self.path(place.path())
    }

    /// The path of a file by directory and id.
    #[must_use]
    pub fn file(&self, place: Place, id: &Id) -> PathBuf {
        self.directory(place).join(id.file_name())
    }

    /// The ids of a place, in no order; files of other names are set apart (C4, C12).
    pub fn ids(&self, place: Place) -> Result<Vec<Id>, Fault> {
        let mut ids = Vec::new();
        for name in self.names(place)? {
            match Id::of_file(&name) {
                Some(id) => ids.push(id),
                None => self.set_apart(place, &name),
            }
        }
        Ok(ids)
    }

    /// A file that stays where it is holds up no other; whoever looks next tries again.
    fn set_apart(&self, place: Place, name: &OsStr) {
        if let Err(fault) = self.reject(place, name, "its name is not {id}.json") {
            tracing::warn!(?name, place = place.path(), %fault, "a file that has no id cannot be set apart");
        }
    }

    /// The ids of a place for whoever only looks: nothing is set apart.
    pub fn listed(&self, place: Place) -> Result<Vec<Id>, Fault> {
        Ok(self.names(place)?.iter().filter_map(|name| Id::of_file(name)).collect())
    }

    /// The names in a place; those that begin with a dot are nobody's business (C4).
    pub fn names(&self, place: Place) -> Result<Vec<OsString>, Fault> {
        self.names_in(place.path())
    }

    /// The names in a directory of the court.
    pub(crate) fn names_in(&self, path: &str) -> Result<Vec<OsString>, Fault> {
        let directory = self.path(path);
        let list = || {
            let names = fs::read_dir(&directory)?.map(|entry| entry.map(|entry| entry.file_name()));
            names.collect::<io::Result<Vec<OsString>>>()
        };
        let mut names = match list() {
            Err(error) if self.only_looks && error.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => listed.map_err(|error| Fault::Io(directory.clone(), error))?,
        };
        names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
        Ok(names)
    }

    /// True if a directory has a file of this id.
    #[must_use]
    pub fn has(&self, place: Place, id: &Id) -> bool {
        self.file(place, id).symlink_metadata().is_ok()
    }

    /// In which of its places a file lies.
    #[must_use]
    pub fn find(&self, kind: Kind, id: &Id) -> Option<Place> {
        // A file that moves on while this looks is met at its next place; one more look meets one that was missed.
        let look = || kind.places().iter().copied().find(|place| self.has(*place, id));
        look().or_else(look)
    }

    /// Reads a file and holds it against its schema. Nothing is followed, nothing large or strange is opened.
    pub fn read(&self, place: Place, id: &Id) -> Result<Document, Fault> {
        let bytes = self.bytes_within(&self.file(place, id), HELD_BYTES_MAX)?;
        let document = validated(place.kind(), &bytes)?;
        if bytes.len() > FILE_BYTES_MAX && is_handed_in(place, &document) {
            return Err(Fault::Invalid(too_large()));
        }
        if place.kind() != Kind::Record && inner_id(place.kind(), &document).as_deref() != Some(id.as_str()) {
            return Err(Fault::Invalid(format!("the id inside is not {id}, the name of the file")));
        }
        Ok(document)
    }

    /// Reads a file; one that is not valid is set apart with its reason, and gone (C12).
    pub fn read_or_reject(&self, place: Place, id: &Id) -> Result<Option<Document>, Fault> {
        match self.read(place, id) {
            Ok(document) => Ok(Some(document)),
            Err(Fault::Gone(_)) => Ok(None),
            Err(Fault::Invalid(reason)) => {
                tracing::warn!(%id, place = place.path(), %reason, "a file was rejected");
                self.reject_file(place, id, &reason).map(|()| None)
            }
            Err(other) => Err(other),
        }
    }

    /// Reads a file; one that cannot be read now keeps no other waiting, and whoever looks next tries again.
    pub(crate) fn read_or_wait(&self, place: Place, id: &Id) -> Option<Document> {
        self.read_or_reject(place, id).unwrap_or_else(|fault| {
            tracing::warn!(%id, place = place.path(), %fault, "a file cannot be read yet");
            None
        })
    }

    /// Writes a file whole, in place of the one that is there (C4).
    pub fn write(&self, place: Place, id: &Id, document: &Document) -> Result<(), Fault> {
        let text = document.to_file();
        validated(place.kind(), text.as_bytes())?;
        self.replace(&self.file(place, id), text.as_bytes())
    }

    /// Writes a file whole unless the place has one of this id; says whether it did.
    pub fn create(&self, place: Place, id: &Id, document: &Document) -> Result<bool, Fault> {
        let text = document.to_file();
        validated(place.kind(), text.as_bytes())?;
        let target = self.file(place, id);
        self.place_new(&target, text.as_bytes())
    }

    /// Writes a file of no place whole unless there is one; says whether it did.
    fn place_new(&self, path: &Path, bytes: &[u8]) -> Result<bool, Fault> {
        let temporary = self.temporary(path);
        let done = self.disk.write_new(&temporary, bytes);
        let done = done.and_then(|()| self.disk.rename_new(&temporary, path));
        if !matches!(done, Ok(true)) {
            self.clear(&temporary);
        }
        done.map_err(|error| Fault::Io(path.into(), error))
    }

    /// Removes a temporary file that came to nothing; one that stays is swept some day.
    fn clear(&self, temporary: &Path) {
        let _ = self.disk.remove(temporary);
    }

    /// Writes a file of no place whole.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), Fault> {
        let temporary = self.temporary(path);
        let done = self.disk.write_new(&temporary, bytes).and_then(|()| self.disk.rename(&temporary, path));
        if done.is_err() {
            self.clear(&temporary);
        }
        done.map_err(|error| Fault::Io(path.into(), error))
    }

    /// Changes a file's state: one rename (C6). Nothing is moved over another file.
    pub fn advance(&self, id: &Id, from: Place, to: Place) -> Result<(), Fault> {
        let (source, target) = (self.file(from, id), self.file(to, id));
        match self.disk.rename_new(&source, &target) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::Invalid(format!("{id} is in {} already", to.path()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Fault::Gone(id.to_string())),
            Err(error) => Err(Fault::Io(source, error)),
        }
    }

    /// Removes a file.
    pub fn remove(&self, place: Place, id: &Id) -> Result<(), Fault> {
        let path = self.file(place, id);
        self.disk.remove(&path).map_err(|error| Fault::Io(path, error))
    }

    /// Removes a directory of the court with all that is in it.
    pub fn remove_tree(&self, path: &Path) -> Result<(), Fault> {
        self.disk.remove_tree(path).map_err(|error| Fault::Io(path.into(), error))
    }

    /// Reads a file of the court, if it is a plain one and not too large.
    pub fn bytes(&self, path: &Path) -> Result<Vec<u8>, Fault> {
        self.bytes_within(path, FILE_BYTES_MAX)
    }

    fn bytes_within(&self, path: &Path, max: usize) -> Result<Vec<u8>, Fault> {
        match read_plain(path, max) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(Fault::Invalid("it is not a plain file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Fault::Gone(path.display().to_string()))
            }
            // The file was not meant for this court; other files do not wait for it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(Fault::Invalid("its permissions keep this court from reading it".to_owned()))
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(Fault::Invalid(too_large())),
            Err(error) => Err(Fault::Io(path.into(), error)),
        }
    }

    /// A name beside the target that no consumer sees and that tells who is writing (C4).
    pub(crate) fn temporary(&self, target: &Path) -> PathBuf {
        static GIVEN: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = GIVEN.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!("{TEMPORARY}{}-{number}", std::process::id()));
            // An earlier process of this number may have died here.
            if path.symlink_metadata().is_err() {
                return path;
            }
        }
    }
}

/// Reads and checks what will be, or was, a file of this kind.
pub(crate) fn validated(kind: Kind, bytes: &[u8]) -> Result<Document, Fault> {
    Document::parse_as(bytes, |value| {
        schema::check(kind, value).map_err(|violation| Fault::Invalid(violation.to_string()))
    })
}

impl From<DocumentError> for Fault {
    fn from(error: DocumentError) -> Self {
        Self::Invalid(error.to_string())
    }
}

fn inner_id(kind: Kind, document: &Document) -> Option<String> {
    document.text(if kind == Kind::Result { "task_id" } else { "id" })
}

/// Keeps whoever only looks from changing anything.
struct Sealed;

impl Fuse for Sealed {
    fn before(&self, _: &Operation) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

/// A pipe must not hold up its reader, a link must not lead elsewhere, a size must not fill the memory.
fn read_plain(path: &Path, max: usize) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(Some(bytes)) }
}

/// True if a file is as it was submitted. Roles may make it a little larger.
fn is_handed_in(place: Place, document: &Document) -> bool {
    matches!(place, Place::EventsPending | Place::MessagesPending)
        && document.text("status").as_deref() == Some("pending")
}

fn too_large() -> String {
    format!("it is larger than {FILE_BYTES_MAX} bytes")
}

pub(crate) const TEMPORARY: &str = ".tmp-";

#[cfg(test)]
mod tests;
