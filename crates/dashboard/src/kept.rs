//! Keeps an answer for a moment: whoever asks meanwhile shares it, and only one at a time makes a new one.

use std::time::Duration;
use tokio::{sync::Mutex, time::Instant};

/// An answer that was made lately.
pub(crate) struct Kept<T>(Mutex<Option<(Instant, T)>>);

impl<T: Clone> Kept<T> {
    /// The answer, if it is fresh; else the one that `make` gives. Whoever comes while it is made waits for it: fifty
    /// pages that are open cost one look at the store, not fifty.
    pub(crate) async fn get_or<E>(&self, make: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let mut kept = self.0.lock().await;
        if let Some((made_at, answer)) = kept.as_ref()
            && made_at.elapsed() < FRESH
        {
            return Ok(answer.clone());
        }
        let answer = make.await?;
        // From its end on: where a look takes long, those who waited for it must not look one after the other.
        *kept = Some((Instant::now(), answer.clone()));
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
        tokio::time::advance(FRESH - Duration::from_millis(1)).await;
        assert_eq!(look().await, Ok(0));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(look().await, Ok(1), "it is too old");
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let kept = Kept::default();
        assert_eq!(kept.get_or(async { Err::<u8, _>("no") }).await, Err("no"));
        assert_eq!(kept.get_or(async { Ok::<_, ()>(7) }).await, Ok(7));
    }
}
