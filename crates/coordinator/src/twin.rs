//! Another server that says it is reached where this one says it is.

use muster_store::{Candidate, Standing};

/// What was seen of a leader at this server's own address. Neither can be told from the other there: what is sent to one may
/// reach the other.
#[derive(Default)]
pub(crate) struct Twin {
    /// Epoch and renewals.
    seen: Option<(u64, u64)>,
    /// The epoch in which it was told of.
    told: Option<u64>,
}

impl Twin {
    /// Whether it is news that such a server leads. A former life of this server stands there too, but shows no life.
    pub(crate) fn shows(&mut self, standing: &Standing, own: &Candidate) -> bool {
        let is_twin = |leader: &&Candidate| leader.address == own.address && leader.node != own.node;
        let twin = standing.leader.as_ref().filter(is_twin).map(|_| (standing.epoch, standing.renewals));
        let before = std::mem::replace(&mut self.seen, twin);
        let (Some((epoch, renewals)), Some((epoch_before, renewals_before))) = (twin, before) else {
            return false;
        };
        let lives = epoch == epoch_before && renewals != renewals_before;
        lives && self.told.replace(epoch) != Some(epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S18: two servers with one address are told of, once a term; a former life is not.
    #[test]
    fn one_address_for_two_is_told_of() {
        let candidate = |node: &str, address: &str| Candidate { node: node.into(), address: address.into() };
        let own = candidate("b", "http://x:1");
        let mut twin = Twin::default();
        let mut shows = |node: &str, address: &str, renewals| {
            let leader = Some(candidate(node, address));
            twin.shows(&Standing { epoch: 1, renewals, leader, connected: true }, &own)
        };
        assert!(!shows("a", "http://y:1", 1) && !shows("a", "http://y:1", 2), "another address");
        assert!(!shows("b", "http://x:1", 3) && !shows("b", "http://x:1", 4), "itself");
        assert!(!shows("a", "http://x:1", 5) && !shows("a", "http://x:1", 5), "a former life");
        assert!(shows("a", "http://x:1", 6));
        assert!(!shows("a", "http://x:1", 7), "once is enough");
    }
}
