//! Judges the head of a request by its very bytes (P16).
//!
//! Two readers that find different ends in the same bytes are how requests are smuggled past a gateway. The HTTP
//! library forgives some of what makes that possible and does not tell; so the head is read once more, strictly, and
//! whatever could be read in two ways is refused.

/// Framing of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// By its last chunk.
    Chunked,
}

/// Reasons why a request is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    #[error("the request line must be METHOD /path HTTP/1.1")]
    RequestLine,
    #[error("the target must be a path that begins with / and has visible ASCII characters only")]
    Target,
    #[error("a line does not end with CR LF, or has a control character in it")]
    Line,
    #[error("a header line must be a name, a colon and a value, on one line")]
    Header,
    #[error("the header Content-Length must be one number, given once")]
    ContentLength,
    #[error("the header Transfer-Encoding must be chunked, given once")]
    TransferEncoding,
    #[error("a request has Content-Length or Transfer-Encoding, never both")]
    TwoLengths,
    #[error("the header Host must be given once")]
    Host,
    #[error("the header Authorization must be given at most once")]
    Authorization,
    #[error("the request could be read in more than one way")]
    Unclear,
}

/// Reads a head without the empty line at its end and says how the body ends.
pub(crate) fn judge(head: &[u8]) -> Result<Framing, Flaw> {
    let mut lines = head.split_inclusive(|byte| *byte == b'\n').map(line);
    let is_http_11 = request_line(lines.next().ok_or(Flaw::RequestLine)??)?;
    let mut fields = Fields::default();
    for line in lines {
        fields.add(line?)?;
    }
    fields.framing(is_http_11)
}

/// A line without its end.
fn line(bytes: &[u8]) -> Result<&[u8], Flaw> {
    let line = bytes.strip_suffix(b"\r\n").ok_or(Flaw::Line)?;
    let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f;
    if line.iter().any(is_control) { Err(Flaw::Line) } else { Ok(line) }
}

/// Says whether the version is 1.1.
fn request_line(line: &[u8]) -> Result<bool, Flaw> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Flaw::RequestLine);
    };
    if method.is_empty() || !method.iter().all(u8::is_ascii_alphabetic) {
        return Err(Flaw::RequestLine);
    }
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
    if !target.starts_with(b"/") || !target.iter().all(is_plain) {
        return Err(Flaw::Target);
    }
    match version {
        b"HTTP/1.1" => Ok(true),
        b"HTTP/1.0" => Ok(false),
        _ => Err(Flaw::RequestLine),
    }
}

/// The fields that say where a request ends and for whom it is.
#[derive(Default)]
struct Fields<'h> {
    length: Option<&'h [u8]>,
    encoding: Option<&'h [u8]>,
    has_host: bool,
    has_authorization: bool,
}

impl<'h> Fields<'h> {
    fn add(&mut self, line: &'h [u8]) -> Result<(), Flaw> {
        let colon = line.iter().position(|byte| *byte == b':').ok_or(Flaw::Header)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // A blank before the colon, or at the beginning as of a folded line, is read differently everywhere.
        if name.is_empty() || !name.iter().all(is_token) {
            return Err(Flaw::Header);
        }
        match name.to_ascii_lowercase().as_slice() {
            b"content-length" if self.length.replace(value).is_some() => Err(Flaw::ContentLength),
            b"transfer-encoding" if self.encoding.replace(value).is_some() => Err(Flaw::TransferEncoding),
            b"host" if std::mem::replace(&mut self.has_host, true) => Err(Flaw::Host),
            b"authorization" if std::mem::replace(&mut self.has_authorization, true) => {
                Err(Flaw::Authorization)
            }
            _ => Ok(()),
        }
    }

    fn framing(&self, is_http_11: bool) -> Result<Framing, Flaw> {
        if is_http_11 && !self.has_host {
            return Err(Flaw::Host);
        }
        match (self.length, self.encoding) {
            (Some(_), Some(_)) => Err(Flaw::TwoLengths),
            (None, Some(encoding)) if is_http_11 && encoding.eq_ignore_ascii_case(b"chunked") => {
                Ok(Framing::Chunked)
            }
            (None, Some(_)) => Err(Flaw::TransferEncoding),
            (Some(length), None) => number(length).map(Framing::Length).ok_or(Flaw::ContentLength),
            (None, None) => Ok(Framing::Length(0)),
        }
    }
}

/// Digits and nothing else: no sign, no list.
fn number(text: &[u8]) -> Option<u64> {
    let is_number = (1..=DIGITS_MAX).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// More cannot be counted in 64 bits.
const DIGITS_MAX: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &str) -> Result<Framing, Flaw> {
        judge(format!("POST /jobs HTTP/1.1\r\nHost: a\r\n{lines}").as_bytes())
    }

    /// P16: a request says once, and in one way, where it ends.
    #[test]
    fn a_request_has_one_length() {
        assert_eq!(judged(""), Ok(Framing::Length(0)));
        assert_eq!(judged("content-LENGTH: 12 \r\n"), Ok(Framing::Length(12)));
        assert_eq!(judged("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
        for both in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        ] {
            assert_eq!(judged(both), Err(Flaw::TwoLengths));
        }
        for wrong in ["4\r\nContent-Length: 4", "4, 4", "+4", "-1", "0x4", "", "4 4", "9999999999999999999"] {
            assert_eq!(judged(&format!("Content-Length: {wrong}\r\n")), Err(Flaw::ContentLength), "{wrong}");
        }
        for wrong in [
            "gzip, chunked",
            "chunked\r\nTransfer-Encoding: chunked",
            "xchunked",
            "identity",
            "chunked, x",
            "",
        ] {
            let judged = judged(&format!("Transfer-Encoding: {wrong}\r\n"));
            assert_eq!(judged, Err(Flaw::TransferEncoding), "{wrong}");
        }
        let old = judge(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n");
        assert_eq!(old, Err(Flaw::TransferEncoding));
    }

    /// P16: a line has one form: no folding, no bare LF or CR, no blank before the colon.
    #[test]
    fn a_line_has_one_form() {
        for (lines, flaw) in [
            ("X: a\n", Flaw::Line),
            ("X: a\rY: b\r\n", Flaw::Line),
            ("X: a\0b\r\n", Flaw::Line),
            ("X: a\r\n b\r\n", Flaw::Header),
            ("X: a\r\n\tb: c\r\n", Flaw::Header),
            ("Transfer-Encoding : chunked\r\n", Flaw::Header),
            ("Transfer\u{b}Encoding: chunked\r\n", Flaw::Line),
            ("no colon\r\n", Flaw::Header),
            (": nameless\r\n", Flaw::Header),
        ] {
            assert_eq!(judged(lines), Err(flaw), "{lines:?}");
        }
    }

    /// P16: there is one Host, and at most one Authorization.
    #[test]
    fn who_and_whither_are_said_once() {
        assert_eq!(judged("Host: a\r\n"), Err(Flaw::Host));
        assert_eq!(judge(b"GET / HTTP/1.1\r\n"), Err(Flaw::Host));
        assert_eq!(judge(b"GET / HTTP/1.0\r\n"), Ok(Framing::Length(0)));
        let twice = "Authorization: Bearer a\r\nauthorization: Bearer a\r\n";
        assert_eq!(judged(twice), Err(Flaw::Authorization));
    }

    /// P16: a target is a path, and nothing in it can end the line.
    #[test]
    fn a_target_is_a_path() {
        let of = |line: &str| judge(format!("{line}\r\nHost: a\r\n").as_bytes());
        assert_eq!(of("GET /a%0d%0a?b=/../c{} HTTP/1.1"), Ok(Framing::Length(0)));
        for target in ["http://b/", "*", "a:1", "a", "/a#b", "/ä", "/a\u{7f}"] {
            let judged = of(&format!("GET {target} HTTP/1.1"));
            assert!(matches!(judged, Err(Flaw::Target | Flaw::Line)), "{target} {judged:?}");
        }
        for line in
            ["GET  / HTTP/1.1", "GET / HTTP/2.0", "GET / HTTP/1.1 ", "GET /", "G(T / HTTP/1.1", " / HTTP/1.1"]
        {
            assert_eq!(of(line), Err(Flaw::RequestLine), "{line}");
        }
    }
}
