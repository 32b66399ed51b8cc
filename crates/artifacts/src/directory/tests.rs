use super::*;
use crate::Finished;
use std::{
    fs,
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    time::Duration,
};
use tempfile::TempDir;

struct Scene {
    root: TempDir,
    store: DirectoryStore,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = DirectoryStore::open(root.path()).unwrap();
        Self { root, store }
    }

    fn reopen(&mut self) {
        self.store = DirectoryStore::open(self.root.path()).unwrap();
    }

    fn put(&self, claim: &Claim, bytes: &[u8]) -> Result<Finished, StoreError> {
        let mut upload = self.store.resume(claim, 0)?;
        upload.write(bytes)?;
        upload.finish()
    }

    fn get(&self, path: &str) -> Option<(Kept, Vec<u8>)> {
        let Opened { kept, mut content } = self.store.read(&StoragePath::parse(path).unwrap(), 0).unwrap()?;
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        Some((kept, bytes))
    }

    fn parts(&self) -> Vec<String> {
        self.store.0.place.parts().unwrap().into_iter().map(|(name, _)| name).collect()
    }
}

fn claim(path: &str, content: &[u8]) -> Claim {
    Claim {
        path: StoragePath::parse(path).unwrap(),
        size: content.len() as u64,
        content_type: "image/png".to_owned(),
        sha256: Some(ContentHash::of(content)),
    }
}

/// N21: a file is shown when all of it is there, for its owner only, and kept over a restart.
#[test]
fn a_whole_upload_is_shown() {
    let mut scene = Scene::new();
    let claim = claim("videos/_/1.png", b"hello");
    let mut upload = scene.store.resume(&claim, 0).unwrap();
    upload.write(b"hel").unwrap();
    assert_eq!(scene.get("videos/_/1.png"), None);
    upload.write(b"lo").unwrap();
    assert_eq!(scene.get("videos/_/1.png"), None);
    let finished = upload.finish().unwrap();
    let kept = Kept { size: 5, content_type: "image/png".to_owned(), sha256: ContentHash::of(b"hello") };
    assert_eq!(finished, Finished { kept: kept.clone(), is_new: true });
    scene.reopen();
    assert_eq!(scene.get("videos/_/1.png"), Some((kept.clone(), b"hello".to_vec())));
    assert_eq!(scene.store.progress(&claim).unwrap(), Progress::Complete(kept));
    assert!(scene.parts().is_empty());
    let directory = scene.root.path().join("files/videos/_");
    for (path, mode) in
        [(directory.clone(), 0o700), (directory.join("1.png"), 0o600), (directory.join(".1.png.meta"), 0o600)]
    {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
    }
}

/// N21: an upload goes on where it stood, also after a restart; its hash is computed over the whole.
#[test]
fn an_upload_resumes_after_a_restart() {
    let mut scene = Scene::new();
    let claim = claim("a/1.png", b"hello world");
    let mut upload = scene.store.resume(&claim, 0).unwrap();
    upload.write(b"hello").unwrap();
    upload.pause().unwrap();
    scene.reopen();
    assert_eq!(scene.store.progress(&claim).unwrap(), Progress::Partial(5));
    for wrong in [1, 4, 6, 11, 99] {
        assert!(matches!(scene.store.resume(&claim, wrong), Err(StoreError::Offset { at: 5 })), "{wrong}");
    }
    let mut upload = scene.store.resume(&claim, 5).unwrap();
    upload.write(b" world").unwrap();
    assert!(upload.finish().unwrap().is_new);
    assert_eq!(scene.get("a/1.png").unwrap().1, b"hello world");
}

/// N21: an upload whose last byte had arrived is finished when somebody asks after it.
#[test]
fn a_full_part_is_finished_when_asked_after() {
    let mut scene = Scene::new();
    let claim = claim("a/1.png", b"hello");
    let mut upload = scene.store.resume(&claim, 0).unwrap();
    upload.write(b"hello").unwrap();
    drop(upload);
    scene.reopen();
    assert!(matches!(scene.store.progress(&claim).unwrap(), Progress::Complete(_)));
    assert_eq!(scene.get("a/1.png").unwrap().1, b"hello");
}

/// N21: the same once more changes nothing; another content is refused.
#[test]
fn a_repeat_is_known_and_another_content_refused() {
    let scene = Scene::new();
    assert!(scene.put(&claim("a/1.png", b"hello"), b"hello").unwrap().is_new);
    assert!(!scene.put(&claim("a/1.png", b"hello"), b"hello").unwrap().is_new);
    assert!(matches!(scene.put(&claim("a/1.png", b"hello"), b"jello"), Err(StoreError::Conflict)));
    let other = claim("a/1.png", b"other");
    assert!(matches!(scene.put(&other, b"other"), Err(StoreError::Conflict)));
    assert!(matches!(scene.store.progress(&other), Err(StoreError::Conflict)));
    assert!(matches!(scene.put(&claim("a/1.png", b"hell"), b"hell"), Err(StoreError::Conflict)));
    let unsaid = Claim { sha256: None, ..claim("a/1.png", b"jello") };
    assert!(matches!(scene.put(&unsaid, b"jello"), Err(StoreError::Conflict)));
    assert!(!scene.put(&unsaid, b"hello").unwrap().is_new);
    assert_eq!(scene.get("a/1.png").unwrap().1, b"hello");
    assert!(scene.parts().is_empty());
}

/// N21: what is not as announced leaves nothing: another hash, or one byte too many.
#[test]
fn what_is_not_as_announced_leaves_nothing() {
    let scene = Scene::new();
    let claim = claim("a/1.png", b"hello");
    assert!(matches!(scene.put(&claim, b"jello"), Err(StoreError::Hash { .. })));
    assert!(scene.parts().is_empty());
    assert!(matches!(scene.put(&claim, b"hello!"), Err(StoreError::TooLong { size: 5 })));
    assert!(scene.parts().is_empty() && scene.get("a/1.png").is_none());
    assert!(matches!(scene.put(&claim, b"hell"), Err(StoreError::Offset { at: 4 })));
    assert!(scene.put(&claim, b"hello").unwrap().is_new);
}

/// N21: two uploads at once of one path do not mix: the newer of one content goes on, of two the first to end stays.
#[test]
fn two_uploads_at_once_do_not_mix() {
    let scene = Scene::new();
    let hello = claim("a/1.png", b"hello");
    let mut old = scene.store.resume(&hello, 0).unwrap();
    old.write(b"he").unwrap();
    let mut new = scene.store.resume(&hello, 2).unwrap();
    assert!(matches!(old.write(b"XX"), Err(StoreError::Superseded)));
    assert!(matches!(old.finish(), Err(StoreError::Superseded)));
    let jello = claim("a/1.png", b"jello");
    let mut other = scene.store.resume(&jello, 0).unwrap();
    other.write(b"jello").unwrap();
    new.write(b"llo").unwrap();
    assert!(new.finish().unwrap().is_new);
    assert!(matches!(other.finish(), Err(StoreError::Conflict)));
    assert_eq!(scene.get("a/1.png").unwrap().1, b"hello");
    assert!(scene.parts().is_empty());
}

/// N21: no link is followed, wherever it was planted, and no file outside is read or written.
#[test]
fn links_are_not_followed() {
    let scene = Scene::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), b"hello").unwrap();
    let files = scene.root.path().join("files");
    fs::create_dir(files.join("a")).unwrap();
    symlink(outside.path(), files.join("out")).unwrap();
    symlink(outside.path().join("secret"), files.join("a/link")).unwrap();
    symlink(outside.path().join("nothing"), files.join("a/dangling")).unwrap();
    for path in ["out/secret", "out/new", "a/link", "a/dangling"] {
        assert!(scene.store.read(&StoragePath::parse(path).unwrap(), 0).is_err(), "{path}");
        assert!(matches!(scene.put(&claim(path, b"hello"), b"hello"), Err(StoreError::Conflict)), "{path}");
    }
    let part = part_of(&claim("a/1.png", b"hello"));
    symlink(outside.path().join("secret"), scene.root.path().join("parts").join(part)).unwrap();
    assert!(scene.put(&claim("a/1.png", b"hello"), b"hello").is_err());
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"hello");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

/// N21: a file where a directory should be, and the other way round, is left alone.
#[test]
fn what_is_in_the_way_is_left_alone() {
    let scene = Scene::new();
    scene.put(&claim("a/b", b"x"), b"x").unwrap();
    assert!(matches!(scene.put(&claim("a/b/c", b"x"), b"x"), Err(StoreError::Conflict)));
    assert!(matches!(scene.put(&claim("a", b"x"), b"x"), Err(StoreError::Conflict)));
    assert_eq!(scene.get("a/b").unwrap().1, b"x");
}

/// N21: what a crash left behind goes: strays at once, parts when they are old.
#[test]
fn leftovers_are_swept() {
    let mut scene = Scene::new();
    let mut upload = scene.store.resume(&claim("a/1.png", b"hello"), 0).unwrap();
    upload.write(b"he").unwrap();
    upload.pause().unwrap();
    fs::write(scene.root.path().join("parts/stray.meta"), b"{").unwrap();
    scene.reopen();
    assert_eq!(scene.parts(), [part_of(&claim("a/1.png", b"hello"))]);
    let part = scene.root.path().join("parts").join(&scene.parts()[0]);
    let touched = fs::metadata(part).unwrap().modified().unwrap();
    assert_eq!(scene.store.sweep(touched - Duration::from_secs(2)).unwrap(), 0);
    assert_eq!(scene.store.sweep(touched + Duration::from_secs(2)).unwrap(), 1);
    assert!(scene.parts().is_empty());
}

/// N21: a crash between the two names of a file shows nothing, and the next try mends it.
#[test]
fn a_meta_file_without_its_file_shows_nothing() {
    let mut scene = Scene::new();
    let claim = claim("a/1.png", b"hello");
    let mut upload = scene.store.resume(&claim, 0).unwrap();
    upload.write(b"hello").unwrap();
    upload.pause().unwrap();
    fs::create_dir(scene.root.path().join("files/a")).unwrap();
    let other = r#"{"content_type":"text/plain","size":1,"sha256":""}"#;
    fs::write(scene.root.path().join("files/a/.1.png.meta"), other).unwrap();
    scene.reopen();
    assert_eq!(scene.get("a/1.png"), None);
    assert!(matches!(scene.store.progress(&claim).unwrap(), Progress::Complete(_)));
    assert_eq!(scene.get("a/1.png").unwrap().0.sha256, ContentHash::of(b"hello"));
}

/// N21: an empty file and one without an announced hash are files too.
#[test]
fn an_empty_file_is_a_file() {
    let scene = Scene::new();
    let claim = Claim { sha256: None, ..claim("a/empty.txt", b"") };
    assert_eq!(scene.store.progress(&claim).unwrap(), Progress::Partial(0));
    assert!(scene.put(&claim, b"").unwrap().is_new);
    assert_eq!(scene.get("a/empty.txt").unwrap().1, b"");
}
