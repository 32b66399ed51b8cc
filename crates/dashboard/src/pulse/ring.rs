//! Values for equal stretches of time, the newest so many of them.

use muster_model::Timestamp;

/// The newest `N` stretches, each with its number since the epoch.
#[derive(Clone, Debug)]
pub(super) struct Ring<T, const N: usize> {
    width_ms: i64,
    slots: [(i64, T); N],
}

impl<T: Copy + Default, const N: usize> Ring<T, N> {
    pub(super) fn new(width_ms: i64) -> Self {
        Self { width_ms, slots: [(i64::MIN, T::default()); N] }
    }

    /// The value of the stretch that a moment is in; none if newer ones took its place.
    pub(super) fn at(&mut self, at: Timestamp) -> Option<&mut T> {
        let number = self.number(at);
        let slot = &mut self.slots[place::<N>(number)];
        if slot.0 < number {
            *slot = (number, T::default());
        }
        (slot.0 == number).then_some(&mut slot.1)
    }

    /// The values of the stretches up to the one that `now` is in, oldest first.
    pub(super) fn up_to(&self, now: Timestamp) -> impl Iterator<Item = T> {
        (self.first(now)..=self.number(now)).map(|number| {
            let (held, value) = self.slots[place::<N>(number)];
            if held == number { value } else { T::default() }
        })
    }

    /// Start of the first of these stretches.
    pub(super) fn begin(&self, now: Timestamp) -> i64 {
        self.first(now) * self.width_ms
    }

    fn first(&self, now: Timestamp) -> i64 {
        self.number(now) - (N as i64 - 1)
    }

    fn number(&self, at: Timestamp) -> i64 {
        at.0.div_euclid(self.width_ms)
    }
}

fn place<const N: usize>(number: i64) -> usize {
    usize::try_from(number.rem_euclid(N as i64)).expect("a remainder is not negative")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(ring: &Ring<u32, 3>, now: i64) -> Vec<u32> {
        ring.up_to(Timestamp(now)).collect()
    }

    #[test]
    fn the_newest_stretches_are_kept() {
        let mut ring = Ring::<u32, 3>::new(10);
        for (at, value) in [(100, 1), (109, 2), (110, 3), (125, 4)] {
            *ring.at(Timestamp(at)).unwrap() += value;
        }
        assert_eq!((values(&ring, 129), ring.begin(Timestamp(129))), (vec![3, 3, 4], 100));
        *ring.at(Timestamp(130)).unwrap() = 9;
        assert_eq!(values(&ring, 130), [3, 4, 9]);
        assert!(ring.at(Timestamp(109)).is_none(), "it is over");
        assert_eq!(values(&ring, 160), [0, 0, 0], "nothing happened since");
    }
}
