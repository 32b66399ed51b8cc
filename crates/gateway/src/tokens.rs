//! Asks the coordinator whether it knows a token, and remembers for a moment (P2, P16).

use crate::rates::hash_of;
use muster_coordinator::instant_now;
use muster_http::Problem;
use quick_cache::unsync::Cache;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The coordinator's verdict on a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    Known,
    Unknown,
    /// It could not be asked.
    Unclear(Problem),
}

/// Recent verdicts, by hashes of tokens.
///
/// The coordinator looks at every token again, so what is remembered opens nothing; it only spares the question.
#[derive(Clone)]
pub(crate) struct Tokens(Arc<Mutex<Memory>>);

struct Memory {
    began: Instant,
    /// Strangers have a memory of their own: however many come, they do not push out anybody who is known.
    known: VerdictCache,
    unknown: VerdictCache,
    asking: HashMap<u128, watch::Receiver<Option<Standing>>>,
    asking_max: usize,
}

struct VerdictCache {
    lasts: Duration,
    until: Cache<u128, Duration>,
}

impl Tokens {
    /// Remembers who is known for `known`, who is not for `unknown`, and lets `asking_max` questions be open.
    pub(crate) fn new(known: Duration, unknown: Duration, asking_max: usize) -> Self {
        let (known, unknown) = (VerdictCache::new(known), VerdictCache::new(unknown));
        let began = instant_now();
        Self(Arc::new(Mutex::new(Memory { began, known, unknown, asking: HashMap::new(), asking_max })))
    }

    /// Says what the coordinator thinks of a token. Whoever comes with a token that is being asked about shares the
    /// answer; `ask` goes on when all of them have left.
    pub(crate) async fn standing<F>(&self, token: &str, ask: impl FnOnce() -> F) -> Standing
    where
        F: Future<Output = Standing> + Send + 'static,
    {
        let key = hash_of(token);
        let mut answer = {
            let mut memory = self.lock();
            if let Some(standing) = memory.recall(key) {
                return standing;
            }
            match memory.asking.get(&key) {
                Some(asked) => asked.clone(),
                None if memory.asking.len() >= memory.asking_max => {
                    return Standing::Unclear(Problem::busy("too many tokens are being checked; try again"));
                }
                None => self.ask(&mut memory, key, ask()),
            }
        };
        let standing = answer.wait_for(Option::is_some).await.ok().and_then(|standing| standing.clone());
        standing.unwrap_or_else(|| Standing::Unclear(Problem::internal(&"a question about a token ended")))
    }

    fn ask(
        &self,
        memory: &mut Memory,
        key: u128,
        asking: impl Future<Output = Standing> + Send + 'static,
    ) -> watch::Receiver<Option<Standing>> {
        let (tell, answer) = watch::channel(None);
        memory.asking.insert(key, answer.clone());
        let tokens = self.clone();
        tokio::spawn(async move {
            let standing = asking.await;
            tokens.lock().remember(key, &standing);
            tell.send_replace(Some(standing));
        });
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn recall(&self, key: u128) -> Option<Standing> {
        let now = self.began.elapsed();
        if self.known.has(key, now) {
            return Some(Standing::Known);
        }
        self.unknown.has(key, now).then_some(Standing::Unknown)
    }

    fn remember(&mut self, key: u128, standing: &Standing) {
        self.asking.remove(&key);
        let now = self.began.elapsed();
        match standing {
            Standing::Known => {
                self.unknown.until.remove(&key);
                self.known.put(key, now);
            }
            Standing::Unknown => {
                self.known.until.remove(&key);
                self.unknown.put(key, now);
            }
            Standing::Unclear(_) => {}
        }
    }
}

impl VerdictCache {
    fn new(lasts: Duration) -> Self {
        Self { lasts, until: Cache::new(TOKENS_MAX) }
    }

    fn has(&self, key: u128, now: Duration) -> bool {
        self.until.get(&key).is_some_and(|until| now < *until)
    }

    fn put(&mut self, key: u128, now: Duration) {
        self.until.insert(key, now + self.lasts);
    }
}

/// More are asked about more often.
const TOKENS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        pin::Pin,
        sync::atomic::{AtomicUsize, Ordering},
        task::Poll,
    };

    struct Asked {
        tokens: Tokens,
        count: Arc<AtomicUsize>,
    }

    async fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
    }

    impl Asked {
        fn new() -> Self {
            let tokens = Tokens::new(Duration::from_secs(2), Duration::from_secs(1), 10);
            Self { tokens, count: Arc::default() }
        }

        async fn about(&self, token: &str, standing: Standing) -> (Standing, usize) {
            let count = Arc::clone(&self.count);
            let ask = || async move {
                count.fetch_add(1, Ordering::Relaxed);
                standing
            };
            (self.tokens.standing(token, ask).await, self.count.load(Ordering::Relaxed))
        }
    }

    /// P2, P16: a token is asked about once in a while: the known every two seconds, others every second.
    #[tokio::test(start_paused = true)]
    async fn answers_are_remembered_for_a_moment() {
        let asked = Asked::new();
        assert_eq!(asked.about("a", Standing::Known).await, (Standing::Known, 1));
        assert_eq!(asked.about("b", Standing::Unknown).await, (Standing::Unknown, 2));
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(asked.about("a", Standing::Unknown).await, (Standing::Known, 2));
        assert_eq!(asked.about("b", Standing::Known).await, (Standing::Unknown, 2));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(asked.about("b", Standing::Known).await, (Standing::Known, 3));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(asked.about("a", Standing::Unknown).await, (Standing::Unknown, 4));
    }

    /// P16: that nobody could be asked is not remembered.
    #[tokio::test(start_paused = true)]
    async fn no_answer_is_not_remembered() {
        let asked = Asked::new();
        let unclear = Standing::Unclear(Problem::busy("x"));
        assert_eq!(asked.about("a", unclear.clone()).await, (unclear, 1));
        assert_eq!(asked.about("a", Standing::Known).await, (Standing::Known, 2));
    }

    /// P16: those who come with one token share one question, which goes on when the first of them leaves.
    #[tokio::test]
    async fn a_question_is_shared() {
        let asked = Asked::new();
        let (answer, asking) = tokio::sync::oneshot::channel();
        let first = asked.tokens.standing("a", || async { asking.await.unwrap() });
        let mut first = Box::pin(first);
        assert!(poll(&mut first).await.is_pending());
        let mut second = Box::pin(asked.about("a", Standing::Unknown));
        assert!(poll(&mut second).await.is_pending());
        drop(first);
        answer.send(Standing::Known).unwrap();
        assert_eq!(second.await, (Standing::Known, 0));
        assert!(asked.tokens.lock().asking.is_empty());
    }

    /// I9: so many questions are open at once, and no more.
    #[tokio::test]
    async fn questions_are_bounded() {
        let asked = Asked::new();
        for number in 0..10 {
            let token = number.to_string();
            let mut waiting = Box::pin(asked.tokens.standing(&token, std::future::pending));
            assert!(poll(&mut waiting).await.is_pending());
        }
        let (standing, count) = asked.about("one more", Standing::Known).await;
        assert!(matches!(standing, Standing::Unclear(problem) if problem.status() == 503));
        assert_eq!(count, 0);
    }
}
