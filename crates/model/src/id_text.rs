//! Ids as text, written into arrays on the stack: the formatting machinery and an allocation for each would cost more than
//! most of what is done with an id.

use crate::{Fence, IdError, JobId, TaskId};
use core::fmt;

/// A task's id as text; its first part is its job's id.
pub struct TaskText([u8; TASK_LEN]);

/// A job's id as text.
pub struct JobText([u8; JOB_LEN]);

/// 128 bits as 32 hexadecimal digits.
pub struct HexText([u8; HEX_LEN]);

impl TaskText {
    /// Writes an id.
    #[must_use]
    pub fn new(id: TaskId) -> Self {
        let mut text = [b'-'; TASK_LEN];
        write_uuid(id.job.0, &mut text);
        text[JOB_LEN] = b'.';
        let mut rest = id.ordinal;
        for place in (JOB_LEN + 1..TASK_LEN).rev() {
            text[place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        ascii(&self.0)
    }
}

impl JobText {
    /// Writes an id.
    #[must_use]
    pub fn new(id: JobId) -> Self {
        let mut text = [b'-'; JOB_LEN];
        write_uuid(id.0, &mut text);
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        ascii(&self.0)
    }
}

impl HexText {
    /// Writes a number.
    #[must_use]
    pub fn new(value: u128) -> Self {
        let mut text = [b'0'; HEX_LEN];
        for (pair, byte) in text.chunks_exact_mut(2).zip(value.to_be_bytes()) {
            pair.copy_from_slice(&hex(byte));
        }
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        ascii(&self.0)
    }
}

impl From<Fence> for HexText {
    fn from(fence: Fence) -> Self {
        Self::new(fence.0)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(JobText::new(*self).as_str())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TaskText::new(*self).as_str())
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HexText::from(*self).as_str())
    }
}

/// Reads a UUID with its dashes, in small letters or capitals.
pub(crate) fn parse_uuid(text: &str) -> Result<u128, IdError> {
    let bytes: &[u8; JOB_LEN] = text.as_bytes().try_into().map_err(|_| IdError)?;
    let mut digits = [0; HEX_LEN];
    let mut place = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if !DASHES.contains(&at) {
            digits[place] = *byte;
            place += 1;
        } else if *byte != b'-' {
            return Err(IdError);
        }
    }
    parse_hex(&digits)
}

/// Reads 32 hexadecimal digits, in small letters or capitals.
pub(crate) fn parse_hex(digits: &[u8; HEX_LEN]) -> Result<u128, IdError> {
    let mut value = [0; HEX_LEN / 2];
    for (byte, pair) in value.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(u128::from_be_bytes(value))
}

fn digit(character: u8) -> Result<u8, IdError> {
    match character {
        b'0'..=b'9' => Ok(character - b'0'),
        b'a'..=b'f' => Ok(character - b'a' + 10),
        b'A'..=b'F' => Ok(character - b'A' + 10),
        _ => Err(IdError),
    }
}

fn write_uuid(value: u128, text: &mut [u8]) {
    let mut place = 0;
    for byte in value.to_be_bytes() {
        place += usize::from(DASHES.contains(&place));
        text[place..place + 2].copy_from_slice(&hex(byte));
        place += 2;
    }
}

fn hex(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

fn ascii(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).expect("digits and dashes are ASCII")
}

/// Places of the dashes in a UUID.
const DASHES: [usize; 4] = [8, 13, 18, 23];

const HEX_LEN: usize = 32;
const JOB_LEN: usize = HEX_LEN + DASHES.len();
const TASK_LEN: usize = JOB_LEN + 1 + 7;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    #[test]
    fn an_id_is_written_as_a_uuid() {
        let job = JobId(0x0123_4567_89ab_cdef_0fed_cba9_8765_4321);
        assert_eq!(job.to_string(), "01234567-89ab-cdef-0fed-cba987654321");
        for ordinal in [1, 42, TaskId::ORDINAL_MAX] {
            assert_eq!(TaskId { job, ordinal }.to_string(), format!("{job}.{ordinal:07}"));
        }
        assert_eq!(Fence(0xab).to_string(), format!("{:032x}", 0xab));
    }

    #[test]
    fn only_a_uuid_is_read_as_one() {
        let text = "01234567-89ab-cdef-0fed-cba987654321";
        assert_eq!(parse_uuid(text), Ok(0x0123_4567_89ab_cdef_0fed_cba9_8765_4321));
        assert_eq!(parse_uuid(&text.to_uppercase()), parse_uuid(text));
        for bad in [
            "",
            "01234567-89ab-cdef-0fed-cba98765432",
            "01234567-89ab-cdef-0fed-cba9876543210",
            "01234567089ab-cdef-0fed-cba987654321",
            "0123456-789ab-cdef-0fed-cba987654321",
            "g1234567-89ab-cdef-0fed-cba987654321",
            "+1234567-89ab-cdef-0fed-cba987654321",
            "é234567-89ab-cdef-0fed-cba987654321",
        ] {
            assert_eq!(parse_uuid(bad), Err(IdError), "{bad}");
        }
    }
}
