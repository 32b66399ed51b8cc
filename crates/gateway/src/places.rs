//! Places that callers take and give back, of which nobody gets more than a share (P16, I9).

use crate::{problems, rates::network_of};
use muster_http::Problem;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many places in all, and so many of them for one caller. Cheap to clone.
///
/// Only callers that hold a place are remembered, so there are never more of them than places.
#[derive(Clone, Debug)]
pub(crate) struct Places(Arc<Mutex<PlaceCounts>>);

#[derive(Debug)]
struct PlaceCounts {
    all: usize,
    all_max: usize,
    by_caller: HashMap<u128, usize>,
    share: usize,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    caller: u128,
}

/// Reasons why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All are taken.
    All,
    /// This caller has its share.
    Share,
}

impl Places {
    /// Places of which one caller gets an eighth: it takes many to shut out everybody else.
    pub(crate) fn shared(all_max: usize) -> Self {
        Self::new(all_max, (all_max / SHARES).max(1))
    }

    /// Places of which one caller may have all.
    pub(crate) fn unshared(all_max: usize) -> Self {
        Self::new(all_max, all_max)
    }

    fn new(all_max: usize, share: usize) -> Self {
        Self(Arc::new(Mutex::new(PlaceCounts { all: 0, all_max, by_caller: HashMap::new(), share })))
    }

    /// Takes a place for an address; of IPv6, for a /64.
    pub(crate) fn take_for(&self, address: IpAddr) -> Result<Place, Full> {
        self.take(network_of(address))
    }

    /// Takes a place for a caller.
    pub(crate) fn take(&self, caller: u128) -> Result<Place, Full> {
        let mut taken = self.lock();
        if taken.all >= taken.all_max {
            return Err(Full::All);
        }
        if taken.by_caller.get(&caller).is_some_and(|count| *count >= taken.share) {
            return Err(Full::Share);
        }
        taken.all += 1;
        *taken.by_caller.entry(caller).or_default() += 1;
        Ok(Place { places: self.clone(), caller })
    }

    fn lock(&self) -> MutexGuard<'_, PlaceCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Full> for Problem {
    /// Tells a client that it has used up its share. When all places are taken, no single client is at fault.
    fn from(full: Full) -> Self {
        match full {
            Full::All => Self::busy("too many requests are under way; try again"),
            Full::Share => problems::share_taken(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        let left = taken.by_caller.get(&self.caller).map_or(0, |count| count - 1);
        if left == 0 {
            taken.by_caller.remove(&self.caller);
        } else {
            taken.by_caller.insert(self.caller, left);
        }
    }
}

/// Number of callers that it takes to fill all places.
const SHARES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(places: &Places, address: &str) -> (Vec<Place>, Full) {
        let mut held = Vec::new();
        loop {
            match places.take_for(address.parse().unwrap()) {
                Ok(place) => held.push(place),
                Err(full) => return (held, full),
            }
        }
    }

    /// P16, I9: one address has an eighth of all places, and who has a /64 has one address.
    #[test]
    fn nobody_has_more_than_a_share() {
        let places = Places::shared(20);
        let (first, full) = fill(&places, "2001:db8::1");
        assert_eq!((first.len(), full), (2, Full::Share));
        assert_eq!(fill(&places, "2001:db8::ffff:1").0.len(), 0);
        assert_eq!(fill(&places, "2001:db8:0:1::1").0.len(), 2);
        drop(first);
        assert_eq!(fill(&places, "2001:db8::1").0.len(), 2);
        assert_eq!(fill(&Places::shared(1), "192.0.2.1").0.len(), 1);
    }

    /// I9: there are so many places in all, and whoever has left is not remembered.
    #[test]
    fn places_are_bounded() {
        let places = Places::shared(20);
        let held: Vec<_> = (1..=10).flat_map(|n| fill(&places, &format!("192.0.2.{n}")).0).collect();
        assert_eq!(held.len(), 20);
        assert_eq!(fill(&places, "192.0.2.99").1, Full::All);
        drop(held);
        assert!(places.lock().by_caller.is_empty());
        let (held, full) = fill(&Places::unshared(20), "192.0.2.1");
        assert_eq!((held.len(), full), (20, Full::All));
    }
}
