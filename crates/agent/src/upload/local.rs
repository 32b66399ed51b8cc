//! The file as it lies on this PC.

use futures_util::{Stream, stream};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write,
    io::{self, SeekFrom},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
};

/// A file to be uploaded, and what must be known of it beforehand.
#[derive(Debug)]
pub(super) struct Local<'a> {
    path: &'a Path,
    pub(super) content_type: &'a str,
    pub(super) size: u64,
    /// In hexadecimal digits.
    pub(super) sha256: String,
}

impl<'a> Local<'a> {
    /// Reads it through once.
    pub(super) async fn look_at(path: &'a Path, content_type: &'a str) -> io::Result<Self> {
        let mut file = File::open(path).await?;
        let (mut hasher, mut size) = (Sha256::new(), 0);
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let count = file.read(&mut buffer).await?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            size += count as u64;
        }
        let mut sha256 = String::with_capacity(64);
        for byte in hasher.finalize() {
            write!(sha256, "{byte:02x}").expect("writing to a string does not fail");
        }
        Ok(Self { path, content_type, size, sha256 })
    }

    /// Its bytes from one on, piece by piece; `moved` counts those that were asked for.
    pub(super) async fn read_from(
        &self,
        offset: u64,
        moved: Arc<AtomicU64>,
    ) -> io::Result<impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static> {
        let mut file = File::open(self.path).await?;
        file.seek(SeekFrom::Start(offset)).await?;
        let left = self.size - offset;
        Ok(stream::try_unfold((file, left, moved), async |(mut file, left, moved)| {
            let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(left).unwrap_or(PIECE_BYTES))];
            if piece.is_empty() {
                return Ok(None);
            }
            let count = file.read(&mut piece).await?;
            if count == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
            }
            piece.truncate(count);
            moved.fetch_add(count as u64, Ordering::Relaxed);
            Ok(Some((piece, (file, left - count as u64, moved))))
        }))
    }
}

const PIECE_BYTES: usize = 64 * 1024;
