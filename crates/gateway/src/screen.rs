//! A connection whose requests are judged as they come in, and whose other end must go on reading (P16).

use crate::{
    head::Flaw,
    scanner::{ScanResult, Scanner},
};
use std::{
    collections::VecDeque,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// Verdicts on the requests of a connection, in the order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts(Arc<Mutex<VecDeque<Result<(), Flaw>>>>);

/// Verdict on one request; an extension of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict(pub(crate) Result<(), Flaw>);

impl Verdicts {
    /// The verdict on the next request. One that was read otherwise than here has none, and is refused.
    pub(crate) fn next(&self) -> Verdict {
        let mut verdicts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Verdict(verdicts.pop_front().unwrap_or(Err(Flaw::Unclear)))
    }

    fn push(&self, verdict: Result<(), Flaw>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(verdict);
    }
}

/// A stream that tells of each request whether it can be passed on. After one that cannot, it gives nothing more.
#[derive(Debug)]
pub(crate) struct Screen<S> {
    stream: S,
    scanner: Scanner,
    verdicts: Verdicts,
    is_closed: bool,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Screen<S> {
    pub(crate) fn new(stream: S, verdicts: Verdicts) -> Self {
        Self { stream, scanner: Scanner::default(), verdicts, is_closed: false, stalled: None }
    }

    /// Judges what was read; says how much of it may be passed on.
    fn judge(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut at = 0;
        loop {
            match self.scanner.scan(&bytes[at..]) {
                ScanResult::Nothing => return Ok(bytes.len()),
                ScanResult::BrokenBody => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a body in no clear form"));
                }
                ScanResult::Head(length, verdict) => {
                    at += length;
                    self.verdicts.push(verdict);
                    if verdict.is_err() {
                        self.is_closed = true;
                        return Ok(at);
                    }
                }
            }
        }
    }

    /// Waits for the other end to read on, but not for ever.
    fn wait_to_write<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL_MAX)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Screen<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_closed {
            // Not the end: the answer to what was refused is still to be written.
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let passed = self.judge(&buffer.filled()[before..])?;
        buffer.set_filled(before + passed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Screen<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wait_to_write(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wait_to_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A caller that reads nothing for so long has gone, or means to hold us.
const STALL_MAX: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// P16: what follows a refused request is never read.
    #[tokio::test]
    async fn nothing_passes_after_a_flaw() {
        let (mut theirs, ours) = tokio::io::duplex(1000);
        let verdicts = Verdicts::default();
        let mut screen = Screen::new(ours, verdicts.clone());
        let good = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
        let flawed = "GET /b HTTP/1.1\r\n\r\n";
        theirs.write_all(format!("{good}{flawed}{good}").as_bytes()).await.unwrap();
        let mut read = [0; 1000];
        let length = screen.read(&mut read).await.unwrap();
        assert_eq!(std::str::from_utf8(&read[..length]).unwrap(), format!("{good}{flawed}"));
        assert!(verdicts.next().0.is_ok());
        assert_eq!(verdicts.next().0, Err(Flaw::Host));
        assert_eq!(verdicts.next().0, Err(Flaw::Unclear));
        let more = std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut screen).poll_read(context, &mut ReadBuf::new(&mut [0; 9])).is_pending())
        });
        assert!(more.await);
    }

    /// P16, I9: whoever does not read what it asked for is let go.
    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_let_go() {
        let (theirs, ours) = tokio::io::duplex(10);
        let mut screen = Screen::new(ours, Verdicts::default());
        let error = screen.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }
}
