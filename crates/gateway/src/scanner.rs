//! Follows the requests on a connection byte by byte (P16).

use crate::head::{Flaw, Framing, judge};

/// Finds where each request on a connection begins and ends, by the strict rules of [`judge`].
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    within: Within,
    /// The head, or the line of a chunk, as far as it came.
    line: Vec<u8>,
}

/// Result of scanning some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScanResult {
    /// A head ended after so many bytes; this is what to think of it.
    Head(usize, Result<(), Flaw>),
    /// A body is no body; nothing more may be read.
    BrokenBody,
    /// The bytes ended first.
    Nothing,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    #[default]
    Head,
    Body(u64),
    ChunkLine,
    Chunk(u64),
    /// The CR LF after a chunk.
    ChunkEnd,
    Trailers,
    /// Something was refused; what follows is nobody's.
    Lost,
}

impl Scanner {
    /// Reads on, up to the end of the next head.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> ScanResult {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.within {
                Within::Lost => return ScanResult::BrokenBody,
                Within::Body(left) | Within::Chunk(left) => at += self.skip(rest, left),
                Within::Head | Within::ChunkLine | Within::ChunkEnd | Within::Trailers => {
                    let (taken, is_whole) = self.gather(rest);
                    at += taken;
                    if let Some(found) = self.end_of_line(at, is_whole) {
                        return found;
                    }
                }
            }
        }
        ScanResult::Nothing
    }

    /// Steps over bytes of a body or a chunk, of which so many are left; says over how many.
    fn skip(&mut self, rest: &[u8], left: u64) -> usize {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        self.within = match (self.within, left - taken as u64) {
            (Within::Chunk(_), 0) => Within::ChunkEnd,
            (Within::Chunk(_), left) => Within::Chunk(left),
            (_, 0) => Within::Head,
            (_, left) => Within::Body(left),
        };
        taken
    }

    /// Takes bytes up to the end of the line; says how many, and whether it ended.
    ///
    /// One byte too many is enough to see that a line is too long, and no room is made for more.
    fn gather(&mut self, rest: &[u8]) -> (usize, bool) {
        let room = (self.line_max() + 1).saturating_sub(self.line.len());
        let rest = &rest[..rest.len().min(room)];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(rest.len(), |end| end + 1);
        let wanted = self.line.len() + taken;
        if wanted > self.line.capacity() {
            let doubled = (self.line.capacity() * 2).min(self.line_max() + 1);
            self.line.reserve_exact(doubled.max(wanted) - self.line.len());
        }
        self.line.extend_from_slice(&rest[..taken]);
        (taken, end.is_some())
    }

    fn line_max(&self) -> usize {
        if self.within == Within::Head { HEAD_MAX } else { CHUNK_LINE_MAX }
    }

    fn end_of_line(&mut self, at: usize, is_whole: bool) -> Option<ScanResult> {
        let in_head = self.within == Within::Head;
        let ended = if self.line.len() > self.line_max() {
            Err(Flaw::Unclear)
        } else if is_whole {
            self.line_ended()
        } else {
            return None;
        };
        match ended {
            Ok(false) => None,
            Ok(true) => Some(ScanResult::Head(at, Ok(()))),
            Err(flaw) => {
                self.within = Within::Lost;
                Some(if in_head { ScanResult::Head(at, Err(flaw)) } else { ScanResult::BrokenBody })
            }
        }
    }

    /// Looks at a line that came to its end; says whether it ended a head.
    ///
    /// A head is let come to its end even where its lines end wrongly, so that its sender can be told.
    fn line_ended(&mut self) -> Result<bool, Flaw> {
        let last = self.line.rsplit(|byte| *byte == b'\n').nth(1).unwrap_or_default();
        let is_empty = matches!(last, b"" | b"\r");
        let is_well_ended = last.ends_with(b"\r");
        match self.within {
            // An empty line before a request is left over from the one before and means nothing.
            Within::Head if is_empty && self.line.len() <= 2 => self.line.clear(),
            Within::Head if is_empty => return self.head_ended().map(|()| true),
            Within::Head => {}
            _ if !is_well_ended => return Err(Flaw::Line),
            Within::ChunkLine => self.chunk_begins()?,
            Within::ChunkEnd if is_empty => self.begin(Within::ChunkLine),
            Within::ChunkEnd => return Err(Flaw::Unclear),
            Within::Trailers if is_empty => self.begin(Within::Head),
            _ => {}
        }
        Ok(false)
    }

    fn head_ended(&mut self) -> Result<(), Flaw> {
        let head = self.line.strip_suffix(b"\r\n").ok_or(Flaw::Line)?;
        let next = match judge(head)? {
            Framing::Length(0) => Within::Head,
            Framing::Length(length) => Within::Body(length),
            Framing::Chunked => Within::ChunkLine,
        };
        self.begin(next);
        Ok(())
    }

    fn chunk_begins(&mut self) -> Result<(), Flaw> {
        let next = match chunk_size(&self.line).ok_or(Flaw::Unclear)? {
            0 => Within::Trailers,
            size => Within::Chunk(size),
        };
        self.begin(next);
        Ok(())
    }

    fn begin(&mut self, within: Within) {
        self.within = within;
        self.line.clear();
        // A body or a wait can last long; a long head before it is not to be paid for meanwhile.
        self.line.shrink_to(LINE_KEPT);
    }
}

/// The size that a chunk's line tells. Extensions are nobody's business and end here.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let digits = line.split(|byte| *byte == b';').next()?;
    let is_plain = line.iter().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'));
    let is_hexadecimal = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_plain && is_hexadecimal)?;
    u64::from_str_radix(digits, 16).ok()
}

/// Of a request line and all headers: the 32 KiB of headers that are taken, and some for the line. The HTTP library is
/// told the same, and tells the sender of a longer one.
pub(crate) const HEAD_MAX: usize = 36 * 1024;

/// Between heads.
const LINE_KEPT: usize = 256;

/// Of a chunk's line with its extensions, or of all trailers.
const CHUNK_LINE_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on each head in some bytes, and whether they passed whole.
    fn heads(bytes: &[u8], piece: usize) -> (Vec<Result<(), Flaw>>, bool) {
        let mut scanner = Scanner::default();
        let mut heads = Vec::new();
        for mut piece in bytes.chunks(piece) {
            loop {
                match scanner.scan(piece) {
                    ScanResult::Nothing => break,
                    ScanResult::BrokenBody => return (heads, false),
                    ScanResult::Head(at, judged) => {
                        heads.push(judged);
                        piece = &piece[at..];
                    }
                }
            }
        }
        (heads, true)
    }

    /// The same, however the bytes are cut.
    fn count(text: &str) -> (usize, bool) {
        let whole = heads(text.as_bytes(), text.len());
        for piece in 1..text.len() {
            assert_eq!(heads(text.as_bytes(), piece), whole, "in pieces of {piece}");
        }
        (whole.0.iter().filter(|head| head.is_ok()).count(), whole.1)
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

    /// P16: what stands in a body is no request.
    #[test]
    fn a_body_is_no_request() {
        assert_eq!(count(&GET.repeat(3)), (3, true));
        assert_eq!(count(&format!("\r\n\r\n{GET}\r\n{GET}")), (2, true));
        let length = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", GET.len());
        assert_eq!(count(&format!("{length}{GET}{GET}")), (2, true));
        let chunk = format!("{CHUNKED}{:x}\r\n{GET}\r\n0\r\n\r\n{GET}", GET.len());
        assert_eq!(count(&chunk), (2, true));
    }

    /// P16: extensions and trailers hide no request.
    #[test]
    fn extensions_and_trailers_hide_nothing() {
        assert_eq!(count(&format!("{CHUNKED}1;a=b\r\nx\r\n0;c\r\nX: y\r\n\r\n{GET}")), (2, true));
    }

    /// P16: a chunk that could be read in two ways ends everything.
    #[test]
    fn a_chunk_has_one_form() {
        for body in [
            "1;a\nb\r\nx\r\n0\r\n\r\n",
            "1\nx\r\n0\r\n\r\n",
            "1\r\nxy\r\n0\r\n\r\n",
            "0x1\r\nx\r\n0\r\n\r\n",
            "+1\r\nx\r\n0\r\n\r\n",
            " 1\r\nx\r\n0\r\n\r\n",
            "1 \r\nx\r\n0\r\n\r\n",
            "\r\n",
            "ffffffffffffffffff\r\n",
            "1;a\0\r\nx\r\n0\r\n\r\n",
            "0\r\nX: y\n\r\n",
        ] {
            assert_eq!(count(&format!("{CHUNKED}{body}{GET}")), (1, false), "{body:?}");
        }
    }

    /// P16: after a flaw nothing is read any more.
    #[test]
    fn after_a_flaw_nothing_counts() {
        let flawed = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        assert_eq!(heads(format!("{flawed}{GET}").as_bytes(), 7).0, [Err(Flaw::Host)]);
        let bare = "GET / HTTP/1.1\nHost: a\n\n";
        assert_eq!(heads(format!("{bare}{GET}").as_bytes(), 7).0, [Err(Flaw::Line)]);
    }

    /// P16: a head, a chunk's line and trailers are bounded.
    #[test]
    fn heads_are_bounded() {
        let long = "x".repeat(HEAD_MAX);
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}");
        assert_eq!(heads(head.as_bytes(), 1000).0, [Err(Flaw::Unclear)]);
        let trailers = "X: y\r\n".repeat(1000);
        assert_eq!(heads(format!("{CHUNKED}0\r\n{trailers}").as_bytes(), 1000), (vec![Ok(())], false));
        assert_eq!(heads(format!("{CHUNKED}1;{long}").as_bytes(), 1000), (vec![Ok(())], false));
    }

    /// I9: a head costs what it may have in bytes and no more, and nothing once it is read.
    #[test]
    fn heads_cost_little() {
        for piece in [1, 1000, 50_000] {
            let mut scanner = Scanner::default();
            let head = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(HEAD_MAX - 100));
            for piece in head.as_bytes().chunks(piece) {
                assert_eq!(scanner.scan(piece), ScanResult::Nothing);
            }
            assert!(scanner.line.capacity() <= HEAD_MAX + 1, "{}", scanner.line.capacity());
            assert!(matches!(scanner.scan(b"\r\n\r\n"), ScanResult::Head(4, Ok(()))));
            assert!(scanner.line.capacity() <= LINE_KEPT, "{}", scanner.line.capacity());
        }
        let mut scanner = Scanner::default();
        assert!(matches!(scanner.scan(&vec![b'x'; 10 * HEAD_MAX]), ScanResult::Head(_, Err(Flaw::Unclear))));
        assert!(scanner.line.capacity() <= HEAD_MAX + 1, "{}", scanner.line.capacity());
    }
}
