//! Waiting, measuring, and chance that can be repeated.

use std::{
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since the Unix epoch.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "a node outside the server has a clock of its own")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Says how long ago it was made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[must_use]
    #[allow(
        clippy::disallowed_methods,
        reason = "waiting for a condition needs an end, and what took how long is told"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since then.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Asks again and again until there is an answer, and gives up, saying for what, only after a very long time.
///
/// # Panics
/// When the time is over.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Stopwatch::start();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        thread::sleep(PAUSE);
    }
}

/// Looks again and again until a condition holds.
///
/// # Panics
/// When the time is over.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

/// Waits until nothing is left, however long that takes, as long as something is done meanwhile.
///
/// # Panics
/// When nothing more is done.
pub fn work_off(what: &str, mut left: impl FnMut() -> u64, mut done: impl FnMut() -> u64) {
    while left() > 0 {
        let before = done();
        wait_until(what, || left() == 0 || done() != before);
    }
}

/// Far beyond what anything here takes, also on a machine that compiles beside it.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// A stream of numbers that its seed determines (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Takes the seed of `MUSTER_SEED`, else one of the clock, and says which.
    #[must_use]
    pub fn announced() -> Self {
        let seed = std::env::var("MUSTER_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| crate::now_ms().unsigned_abs());
        println!("repeat with MUSTER_SEED={seed}");
        Self(seed)
    }

    /// A stream of its own, for another thread.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.roll())
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// True so many times out of a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A span of so many milliseconds.
    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to.saturating_sub(from)))
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap_or(0);
        from[index]
    }
}
