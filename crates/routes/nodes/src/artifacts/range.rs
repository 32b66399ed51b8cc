//! Ranges of bytes: `Content-Range` of an upload, `Range` of a download.

/// A stretch of a file, from its first byte to the one after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The bytes that a `Range` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Everything: no range, or one that is not understood.
    Whole,
    Part(Span),
    /// Nothing that is there.
    Nowhere,
}

impl Span {
    pub(super) const fn length(self) -> u64 {
        self.end - self.start
    }
}

/// Reads `bytes FIRST-LAST/TOTAL`: the stretch and the total.
pub(super) fn read_content_range(text: &str) -> Option<(Span, u64)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (start, last, total) = (number(first)?, number(last)?, number(total)?);
    let end = last.checked_add(1)?;
    (start < end && end <= total).then_some((Span { start, end }, total))
}

/// Reads `bytes=FIRST-LAST`, `bytes=FIRST-` and `bytes=-COUNT` of a file of `size` bytes; one stretch only.
pub(super) fn read_range(text: &str, size: u64) -> Wanted {
    let Some((first, last)) = text.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Wanted::Whole;
    };
    let span = match (number(first), number(last)) {
        (Some(start), Some(last)) if start <= last => Span { start, end: size.min(last.saturating_add(1)) },
        (Some(start), None) if last.is_empty() => Span { start, end: size },
        (None, Some(count)) if first.is_empty() => Span { start: size.saturating_sub(count), end: size },
        _ => return Wanted::Whole,
    };
    if span.start < span.end { Wanted::Part(span) } else { Wanted::Nowhere }
}

/// Digits and nothing else; not even a sign.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N21: an upload goes on with the stretch that it names.
    #[test]
    fn content_ranges_are_read() {
        assert_eq!(read_content_range("bytes 3-9/10"), Some((Span { start: 3, end: 10 }, 10)));
        assert_eq!(read_content_range("bytes 0-0/1"), Some((Span { start: 0, end: 1 }, 1)));
        for bad in [
            "",
            "3-9/10",
            "bytes 9-3/10",
            "bytes 3-10/10",
            "bytes */10",
            "bytes 3-9/*",
            "bytes +3-9/10",
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes=3-9/10",
            "items 0-1/2",
        ] {
            assert_eq!(read_content_range(bad), None, "{bad}");
        }
    }

    /// N21: a download may ask for a stretch.
    #[test]
    fn ranges_are_read() {
        let part = |start, end| Wanted::Part(Span { start, end });
        assert_eq!(read_range("bytes=2-4", 10), part(2, 5));
        assert_eq!(read_range("bytes=2-", 10), part(2, 10));
        assert_eq!(read_range("bytes=-3", 10), part(7, 10));
        assert_eq!(read_range("bytes=-99", 10), part(0, 10));
        assert_eq!(read_range("bytes=2-99", 10), part(2, 10));
        for nowhere in ["bytes=10-", "bytes=-0", "bytes=99-100"] {
            assert_eq!(read_range(nowhere, 10), Wanted::Nowhere, "{nowhere}");
        }
        for other in ["", "bytes=", "bytes=-", "bytes=4-2", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b"] {
            assert_eq!(read_range(other, 10), Wanted::Whole, "{other}");
        }
    }
}
