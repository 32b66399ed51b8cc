//! Events on their way out of the spool, until their bodies are at hand and fit into one request (N19, N25).

use crate::core::Answer;

/// Events that leave in one request, in this order. The bodies of some may have to be read from the disk first.
#[derive(Debug)]
pub(crate) struct Outgoing {
    events: Vec<OutgoingEvent>,
}

#[derive(Debug)]
struct OutgoingEvent {
    number: u64,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// It is being read from the disk.
    Awaited,
    Known(Vec<u8>),
    /// The disk does not give it back.
    Unreadable,
}

/// A request whose bodies are at hand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The events that leave.
    pub(crate) numbers: Vec<u64>,
    /// Their bodies.
    pub(crate) bodies: Vec<Vec<u8>>,
    /// Those that do not, and what the core must be told of them.
    pub(crate) left: Vec<(u64, Answer)>,
}

impl Outgoing {
    /// A request; the bodies that are not known are awaited.
    pub(crate) fn new(events: impl IntoIterator<Item = (u64, Option<Vec<u8>>)>) -> Self {
        let event = |(number, body): (u64, Option<Vec<u8>>)| OutgoingEvent {
            number,
            body: body.map_or(Body::Awaited, Body::Known),
        };
        Self { events: events.into_iter().map(event).collect() }
    }

    /// The events whose bodies must be read.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = u64> {
        let awaited = self.events.iter().filter(|event| matches!(event.body, Body::Awaited));
        awaited.map(|event| event.number)
    }

    /// Takes the body of an event that was read; none if that is not possible. False: it was not awaited here.
    pub(crate) fn read(&mut self, number: u64, body: Option<&[u8]>) -> bool {
        let awaited =
            |event: &&mut OutgoingEvent| event.number == number && matches!(event.body, Body::Awaited);
        let Some(event) = self.events.iter_mut().find(awaited) else {
            return false;
        };
        event.body = body.map_or(Body::Unreadable, |body| Body::Known(body.to_vec()));
        true
    }

    /// Packs as many of the oldest events as fit. One that cannot be read keeps back all after it, so that none of its
    /// task overtakes it; it is tried again like any that got no answer.
    pub(crate) fn pack(self) -> Packed {
        let mut packed = Packed { numbers: Vec::new(), bodies: Vec::new(), left: Vec::new() };
        let mut bytes = 0;
        for OutgoingEvent { number, body } in self.events {
            let is_first = packed.numbers.is_empty();
            match body {
                Body::Known(body)
                    if packed.left.is_empty() && (is_first || bytes + body.len() <= REQUEST_BYTES_MAX) =>
                {
                    bytes += body.len();
                    packed.numbers.push(number);
                    packed.bodies.push(body);
                }
                Body::Unreadable if packed.left.is_empty() => packed.left.push((number, Answer::None)),
                _ => packed.left.push((number, Answer::Unsent)),
            }
        }
        packed
    }
}

/// Total size of the events in one request; half of what every backend takes (N6).
const REQUEST_BYTES_MAX: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(packed: &Packed) -> (Vec<u64>, Vec<(u64, Answer)>) {
        (packed.numbers.clone(), packed.left.clone())
    }

    /// N19, N25: an event that cannot be read keeps back what follows it.
    #[test]
    fn an_unreadable_event_is_not_overtaken() {
        let mut outgoing = Outgoing::new([(1, Some(vec![1])), (2, None), (3, Some(vec![3])), (4, None)]);
        assert!(outgoing.awaited().eq([2, 4]));
        assert!(outgoing.read(4, Some(&[4])) && !outgoing.read(4, None) && !outgoing.read(1, None));
        assert!(outgoing.read(2, None));
        let left = vec![(2, Answer::None), (3, Answer::Unsent), (4, Answer::Unsent)];
        assert_eq!(numbers(&outgoing.pack()), (vec![1], left));
    }

    /// N6, N25: a request stays below the limit of a body; a single event leaves whatever its size.
    #[test]
    fn a_request_has_a_size() {
        let body = |kib: usize| Some(vec![b'x'; kib * 1024]);
        let outgoing = Outgoing::new([(1, body(300)), (2, body(212)), (3, body(1)), (4, body(1))]);
        let left = vec![(3, Answer::Unsent), (4, Answer::Unsent)];
        assert_eq!(numbers(&outgoing.pack()), (vec![1, 2], left));
        assert_eq!(numbers(&Outgoing::new([(1, body(900))]).pack()), (vec![1], vec![]));
    }
}
