//! Passwords: hashed with Argon2id, off the async threads and a few at a time (P1).

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use muster_http::Problem;
use prometheus_client::metrics::counter::Counter;
use std::{num::NonZero, sync::Arc, thread};
use tokio::sync::Semaphore;

/// A password as it was given; prints as `…`.
#[derive(Clone)]
pub(crate) struct Password(String);

/// Hashes and checks passwords.
pub(crate) struct Passwords {
    /// Each hash under way takes 19 MiB: a flood of logins waits here.
    benches: Arc<Semaphore>,
    /// And a larger flood is turned away.
    places: Semaphore,
    /// Hash that a password is compared with where there is no user, so that it takes as long as where there is one.
    nobodys: Arc<str>,
    checks: Counter,
}

/// Reason why a password cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Password should have 8 to 1024 bytes, not {0}: shorter ones are guessed, longer ones are no harder to guess"
)]
pub(crate) struct WrongLength(usize);

impl Password {
    /// Takes what somebody shows, of any length.
    pub(crate) const fn shown(text: String) -> Self {
        Self(text)
    }

    /// Takes what is to be a password from now on.
    ///
    /// # Errors
    /// When it is too short or too long.
    pub(crate) fn chosen(text: &str) -> Result<Self, WrongLength> {
        if !(8..=1024).contains(&text.len()) {
            return Err(WrongLength(text.len()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl Passwords {
    /// Half of the cores may hash at once; the others go on with the work.
    pub(crate) fn new(checks: Counter) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let nobodys =
            Argon2::default().hash_password(b"nobody's").expect("the recommended parameters are valid");
        Self {
            benches: Arc::new(Semaphore::new((cores / 2).clamp(1, BENCHES_MAX))),
            places: Semaphore::new(PLACES_MAX),
            nobodys: nobodys.to_string().into(),
            checks,
        }
    }

    /// Hashes a password, with a salt of its own.
    ///
    /// # Errors
    /// 503 when too many wait.
    pub(crate) async fn hash(&self, password: Password) -> Result<Box<str>, Problem> {
        let hashed = self.at_a_bench(move || Argon2::default().hash_password(password.0.as_bytes())).await?;
        hashed.map(|hash| hash.to_string().into()).map_err(|error| Problem::internal(&error))
    }

    /// Says whether a password is the one that was hashed. `None`, for a user there is not, takes as long and is never
    /// right.
    ///
    /// # Errors
    /// 503 when too many wait; 500 when the hash makes no sense.
    pub(crate) async fn is_right(&self, password: Password, hash: Option<&str>) -> Result<bool, Problem> {
        let is_somebodys = hash.is_some();
        let hash: Arc<str> = hash.map_or_else(|| Arc::clone(&self.nobodys), Arc::from);
        let checks = self.checks.clone();
        let check = move || {
            checks.inc();
            let known = PasswordHash::new(&hash)?;
            Argon2::default().verify_password(password.0.as_bytes(), &known)
        };
        match self.at_a_bench(check).await? {
            Ok(()) => Ok(is_somebodys),
            Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
            Err(error) => Err(Problem::internal(&error)),
        }
    }

    async fn at_a_bench<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let _place =
            self.places.try_acquire().map_err(|_full| Problem::busy("too many logins at once; try again"))?;
        let bench = Arc::clone(&self.benches).acquire_owned().await.expect("it is never closed");
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            // Not before: whoever hangs up leaves the work behind.
            drop(bench);
            done
        });
        working.await.map_err(|error| Problem::internal(&error))
    }
}

/// More than this many hashes at once make no login faster.
const BENCHES_MAX: usize = 8;

/// At 20 ms each these are answered within seconds.
const PLACES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// P1: Argon2id with the recommended parameters and a salt of its own; the right password and no other opens it.
    #[tokio::test]
    async fn a_password_opens_its_hash() {
        let checks = Counter::default();
        let passwords = Passwords::new(checks.clone());
        let hash = passwords.hash(Password::chosen("correct horse").unwrap()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, passwords.hash(Password::chosen("correct horse").unwrap()).await.unwrap());
        let right = |text: &str, hash| passwords.is_right(Password::shown(text.to_owned()), hash);
        assert!(right("correct horse", Some(&*hash)).await.unwrap());
        assert!(!right("correct horsf", Some(&*hash)).await.unwrap());
        assert!(!right("", Some(&*hash)).await.unwrap());
        assert!(!right("nobody's", None).await.unwrap(), "where there is no user nothing is right");
        assert_eq!(checks.get(), 4);
        assert_eq!(right("x", Some("nonsense")).await.unwrap_err().status(), 500);
    }

    /// P1: what nobody's password is compared with costs the same as anybody's.
    #[tokio::test]
    async fn nobodys_hash_is_like_any_other() {
        let passwords = Passwords::new(Counter::default());
        let somebodys = passwords.hash(Password::chosen("12345678").unwrap()).await.unwrap();
        let cost = |hash: &str| hash.rsplit('$').nth(2).unwrap().to_owned();
        assert_eq!(cost(&somebodys), cost(&passwords.nobodys));
        assert_eq!(somebodys.len(), passwords.nobodys.len());
    }

    /// P1, I6: passwords have 8 to 1024 bytes and do not show.
    #[test]
    fn a_password_has_a_length_and_does_not_show() {
        for (length, fits) in [(0, false), (7, false), (8, true), (1024, true), (1025, false)] {
            assert_eq!(Password::chosen(&"x".repeat(length)).is_ok(), fits, "{length}");
        }
        assert!(Password::chosen("ééé").is_err() && Password::chosen("éééé").is_ok());
        assert!(!format!("{:?}", Password::shown("hunter2".to_owned())).contains("hunter2"));
    }

    /// P1, I9: more logins than can wait are turned away.
    #[tokio::test]
    async fn a_flood_is_turned_away() {
        let passwords = Passwords::new(Counter::default());
        let all = passwords.places.try_acquire_many(u32::try_from(PLACES_MAX).unwrap()).unwrap();
        let refused = passwords.hash(Password::chosen("12345678").unwrap()).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        drop(all);
        assert!(passwords.hash(Password::chosen("12345678").unwrap()).await.is_ok());
    }
}
