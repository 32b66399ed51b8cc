//! Delays between retries.

use muster_model::Millis;

/// A schedule of delays between retries.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The delays after 0, 1, 2 … failures in a row.
    pub delays_ms: &'static [i64],
    /// The delay after more failures than the list has.
    pub delay_ms_max: i64,
    /// The longest delay that a server may ask for: it may ask for patience, but not for silence.
    pub retry_after_ms_max: i64,
}

impl Backoff {
    /// The delay after so many failures in a row.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Millis {
        let place = usize::try_from(failures).unwrap_or(usize::MAX);
        Millis(self.delays_ms.get(place).copied().unwrap_or(self.delay_ms_max))
    }

    /// The longer of that delay and the one that the server asked for.
    #[must_use]
    pub fn patience(&self, failures: u32, retry_after: Option<Millis>) -> Millis {
        let asked = retry_after.unwrap_or_default().min(Millis(self.retry_after_ms_max));
        self.delay(failures).max(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N20: the last delay repeats, and a server cannot ask for silence.
    #[test]
    fn delays_grow_and_stay_bounded() {
        let backoff = Backoff { delays_ms: &[0, 100], delay_ms_max: 300, retry_after_ms_max: 1_000 };
        let delays: Vec<i64> =
            [0, 1, 2, u32::MAX].into_iter().map(|failures| backoff.delay(failures).0).collect();
        assert_eq!(delays, [0, 100, 300, 300]);
        assert_eq!(backoff.patience(1, Some(Millis(50))), Millis(100));
        assert_eq!(backoff.patience(1, Some(Millis(9_999))), Millis(1_000));
    }
}
