//! Ids as text, written into arrays on the stack.
//!
//! Every row of the hottest table carries three ids; the formatting machinery and an allocation for
//! each would cost more than SQLite's own work on the row.

use muster_model::{Fence, JobId, TaskId};

/// A task's id as text; its first part is its job's id.
pub(crate) struct TaskText([u8; TASK_LEN]);

/// A job's id as text.
pub(crate) struct JobText([u8; JOB_LEN]);

/// 128 bits as 32 hexadecimal digits.
pub(crate) struct HexText([u8; 32]);

/// The range of the primary key that holds all tasks of a job: from the first, up to before the second.
pub(crate) struct TaskRange {
    /// The smallest text that could be a task of the job.
    pub(crate) from: String,
    /// The smallest text that is greater than any.
    pub(crate) to: String,
}

impl TaskText {
    pub(crate) fn new(id: TaskId) -> Self {
        let mut text = [b'-'; TASK_LEN];
        write_job(id.job, &mut text);
        text[JOB_LEN] = b'.';
        let mut rest = id.ordinal;
        for place in (JOB_LEN + 1..TASK_LEN).rev() {
            text[place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Self(text)
    }

    /// The task's own id.
    pub(crate) fn task(&self) -> &str {
        ascii(&self.0)
    }
}

impl JobText {
    pub(crate) fn new(id: JobId) -> Self {
        let mut text = [b'-'; JOB_LEN];
        write_job(id, &mut text);
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        ascii(&self.0)
    }
}

impl HexText {
    pub(crate) fn new(value: u128) -> Self {
        let mut text = [b'0'; 32];
        for (pair, byte) in text.chunks_exact_mut(2).zip(value.to_be_bytes()) {
            pair.copy_from_slice(&hex(byte));
        }
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        ascii(&self.0)
    }
}

impl From<Fence> for HexText {
    fn from(fence: Fence) -> Self {
        Self::new(fence.0)
    }
}

impl TaskRange {
    pub(crate) fn of(job: JobId) -> Self {
        // '/' follows '.' in ASCII.
        Self { from: format!("{job}."), to: format!("{job}/") }
    }
}

/// Reads 32 hexadecimal digits.
pub(crate) fn parse_hex(text: &str) -> Option<u128> {
    text.parse::<Fence>().ok().map(|fence| fence.0)
}

fn write_job(id: JobId, text: &mut [u8]) {
    let mut place = 0;
    for byte in id.0.to_be_bytes() {
        if matches!(place, 8 | 13 | 18 | 23) {
            place += 1;
        }
        text[place..place + 2].copy_from_slice(&hex(byte));
        place += 2;
    }
}

fn hex(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("digits and dashes are ASCII")
}

const JOB_LEN: usize = 36;
const TASK_LEN: usize = JOB_LEN + 1 + 7;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Timestamp;

    #[test]
    fn the_text_is_the_one_the_model_writes() {
        let job = JobId::new(Timestamp(1_760_000_000_000), 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        for ordinal in [1, 42, TaskId::ORDINAL_MAX] {
            let id = TaskId { job, ordinal };
            let text = TaskText::new(id);
            assert_eq!(text.task(), id.to_string());
            assert_eq!(JobText::new(job).as_str(), job.to_string());
            let range = TaskRange::of(job);
            assert!(range.from.as_str() < text.task() && text.task() < range.to.as_str());
        }
        assert_eq!(HexText::new(0xab).as_str(), Fence(0xab).to_string());
        assert_eq!(parse_hex(HexText::new(u128::MAX).as_str()), Some(u128::MAX));
    }
}
