//! The end of what a program prints.

use std::{pin::pin, time::Duration};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// Reads until the end, hands on what it reads, and keeps the last [`TAIL_BYTES_MAX`] bytes.
///
/// When `over` says that the program and all its children are gone, whoever still holds the pipe is a stranger that was
/// handed it; what is in the pipe is read, and no more.
pub(super) async fn tail(
    mut pipe: impl AsyncRead + Unpin,
    over: &CancellationToken,
    hear: &mut (dyn FnMut(&[u8]) + Send),
) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut drained = pin!(async {
        over.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    });
    loop {
        let read = tokio::select! {
            biased;
            () = &mut drained => 0,
            read = pipe.read(&mut chunk) => read.unwrap_or(0),
        };
        let read_now = chunk.get(..read).unwrap_or_default();
        hear(read_now);
        kept.extend_from_slice(read_now);
        kept.drain(..kept.len().saturating_sub(TAIL_BYTES_MAX));
        if read == 0 {
            return kept;
        }
    }
}

/// Enough to see what went wrong, little enough for twenty programs at once.
const TAIL_BYTES_MAX: usize = 64 * 1024;
const CHUNK_BYTES: usize = 8 * 1024;
const DRAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// N18: however much a program prints, only the last 64 KiB are kept.
    #[tokio::test]
    async fn only_the_end_is_kept() {
        let printed: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let mut heard = Vec::new();
        let mut hear = |bytes: &[u8]| heard.extend_from_slice(bytes);
        let kept = tail(printed.as_slice(), &CancellationToken::new(), &mut hear).await;
        assert_eq!(kept, printed[printed.len() - TAIL_BYTES_MAX..]);
        assert!(heard == printed, "whoever listens hears all of it");
        assert_eq!(tail(&b"short"[..], &CancellationToken::new(), &mut |_| {}).await, b"short");
    }

    /// N18: a stranger that holds the pipe holds up nobody.
    #[tokio::test(start_paused = true)]
    async fn a_stranger_holds_up_nobody() {
        let (mut stranger, pipe) = tokio::io::duplex(64);
        tokio::io::AsyncWriteExt::write_all(&mut stranger, b"last words").await.unwrap();
        let over = CancellationToken::new();
        over.cancel();
        assert_eq!(tail(pipe, &over, &mut |_| {}).await, b"last words");
    }
}
