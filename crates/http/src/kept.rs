//! Keeps an answer for a moment: whoever asks meanwhile shares it, and only one at a time makes a new one.

use muster_coordinator::instant_now;
use std::time::Duration;
use tokio::{sync::Mutex, time::Instant};

/// An answer that was made lately, for all who want the same.
pub struct Kept<T>(Mutex<Option<FreshAnswer<T>>>);

struct FreshAnswer<T> {
    answer: T,
    stale_at: Instant,
}

impl<T: Clone> Kept<T> {
    /// Gives the answer, if it is fresh; else the one that `make` gives. Whoever comes while it is made waits for it: fifty
    /// pages that are open cost one look at the store, not fifty.
    pub async fn get_or<E>(&self, make: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let mut kept = self.0.lock().await;
        let begun = instant_now();
        if let Some(made) = kept.as_ref().filter(|made| begun < made.stale_at) {
            return Ok(made.answer.clone());
        }
        let answer = make.await?;
        // From its end on: where a look takes long, those who waited for it must not look one after the other.
        let stale_at = instant_now() + FRESH.max(begun.elapsed() * REST_TO_LOOK);
        *kept = Some(FreshAnswer { answer: answer.clone(), stale_at });
        Ok(answer)
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

/// Less than anybody sees on a page, and more than a look takes.
const FRESH: Duration = Duration::from_millis(250);
/// However large a fleet or a court, looking at it takes a tenth of the time at most: pages follow the feed meanwhile.
const REST_TO_LOOK: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// I9: many who ask at once cost one look.
    #[tokio::test(start_paused = true)]
    async fn many_share_one_answer() {
        let (kept, looks) = (Kept::default(), AtomicU32::new(0));
        let look = || {
            kept.get_or(async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok::<_, ()>(looks.fetch_add(1, Ordering::Relaxed))
            })
        };
        assert_eq!(tokio::join!(look(), look(), look()), (Ok(0), Ok(0), Ok(0)));
        tokio::time::advance(Duration::from_millis(899)).await;
        assert_eq!(look().await, Ok(0), "a look that takes long is not soon repeated");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(look().await, Ok(1), "it is too old");
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_answer_is_soon_too_old() {
        let (kept, looks) = (Kept::default(), AtomicU32::new(0));
        let look = || kept.get_or(async { Ok::<_, ()>(looks.fetch_add(1, Ordering::Relaxed)) });
        assert_eq!((look().await, look().await), (Ok(0), Ok(0)));
        tokio::time::advance(FRESH).await;
        assert_eq!(look().await, Ok(1));
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let kept = Kept::default();
        assert_eq!(kept.get_or(async { Err::<u8, _>("no") }).await, Err("no"));
        assert_eq!(kept.get_or(async { Ok::<_, ()>(7) }).await, Ok(7));
    }
}
