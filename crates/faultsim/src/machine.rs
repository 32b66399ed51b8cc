//! The part that every simulated machine has, whatever runs on it: its lives, its timers, and the requests it waits for.

use crate::{
    checker::{Verdict, ensure},
    farm,
    fault::Fault,
    network::{Sender, Ticket},
    node, pool,
    scene::{Happening, Scene},
};
use muster_model::{Millis, Rejection, Reply, Timestamp};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// A program on a machine: muster's own over its real core, or a model of somebody else's.
pub(crate) trait Program {
    fn machine(&self) -> &Machine;

    fn machine_mut(&mut self) -> &mut Machine;

    /// Begins its rounds, at first and after a crash.
    fn begin(&mut self, scene: &mut Scene) -> Verdict;

    /// Loses everything that it had not written down.
    fn crash(&mut self, scene: &mut Scene);

    /// Does something that it planned in this life.
    fn act(&mut self, chore: Chore, scene: &mut Scene) -> Verdict;

    /// Hears an answer; one it no longer waits for is nothing to it.
    fn hear(&mut self, ticket: &Ticket, result: Result<Reply, Rejection>, scene: &mut Scene) -> Verdict;

    /// Hears that the coordinator is away; a model does not understand.
    fn turned_away(&mut self, _ticket: &Ticket, _scene: &mut Scene) -> Verdict {
        Ok(())
    }

    /// Hears that its token is not known.
    fn turned_out(&mut self, _ticket: &Ticket, _scene: &mut Scene) -> Verdict {
        Ok(())
    }

    /// Is asked to end in order; some models do not understand.
    fn leave(&mut self, _scene: &mut Scene) -> Verdict {
        Ok(())
    }

    /// Goes on with whatever hung, as the faults have stopped.
    fn recover(&mut self, _scene: &mut Scene) -> Verdict {
        Ok(())
    }

    /// True if nothing is left to do or to say here.
    fn is_quiet(&self) -> bool {
        true
    }

    /// Describes the reasons why it is not quiet.
    fn unrest(&self) -> String;
}

/// A machine.
pub(crate) struct Machine {
    pub(crate) place: Sender,
    pub(crate) up: bool,
    /// Counts its lives; what an earlier one had planned does not happen.
    pub(crate) incarnation: u32,
    /// Until then nothing happens here, and what arrives waits.
    pub(crate) frozen_until: Timestamp,
    /// When its core is woken next.
    wakes_at: Option<Timestamp>,
    /// Wakes in a row after which something was due at once.
    rounds: u32,
}

impl Machine {
    pub(crate) fn new(place: Sender) -> Self {
        Self { place, up: false, incarnation: 0, frozen_until: Timestamp(0), wakes_at: None, rounds: 0 }
    }

    /// Plans something for this life.
    pub(crate) fn plan(&self, scene: &mut Scene, ms: RangeInclusive<i64>, chore: impl Into<Chore>) {
        let (place, incarnation) = (self.place, self.incarnation);
        let happening = Happening::Machine { place, incarnation, chore: chore.into() };
        scene.within(*ms.start(), *ms.end(), happening);
    }

    /// Plans the beginning of its next life.
    pub(crate) fn plan_restart(&self, scene: &mut Scene, ms: RangeInclusive<i64>) {
        let back = Fault::Restart(self.place);
        scene.within(*ms.start(), *ms.end(), Happening::Fault(Box::new(back)));
    }

    /// Has its core woken when something is next due there.
    pub(crate) fn plan_wake(
        &mut self,
        next: Option<Timestamp>,
        wake: impl Into<Chore>,
        scene: &mut Scene,
    ) -> Verdict {
        let now = scene.now;
        let Some(next) = next.map(|next| next.max(now)) else { return Ok(()) };
        self.rounds = if next == now { self.rounds + 1 } else { 0 };
        let check = if matches!(self.place, Sender::Node(_)) { "agent_spins" } else { "worker_spins" };
        ensure(self.rounds <= ROUNDS_MAX, check, || format!("{:?}: something is still due", self.place))?;
        if self.wakes_at.is_none_or(|at| next < at) {
            self.wakes_at = Some(next);
            let pause = (next - now).0;
            self.plan(scene, pause..=pause, wake);
        }
        Ok(())
    }

    /// True if its core is to be woken now.
    pub(crate) fn must_wake(&mut self, now: Timestamp) -> bool {
        self.wakes_at.take_if(|at| *at <= now).is_some()
    }

    /// Ends this life: whatever was planned or under way here is over.
    pub(crate) fn go_down(&mut self) {
        (self.up, self.wakes_at, self.rounds) = (false, None, 0);
        self.incarnation += 1;
    }
}

/// Has a machine crash, and counts it.
pub(crate) fn crash(program: &mut dyn Program, scene: &mut Scene) {
    scene.count(match program.machine().place {
        Sender::Node(_) => "node crashed",
        Sender::Renderer(_) => "renderer crashed",
        _ => "member crashed",
    });
    program.crash(scene);
}

/// Requests whose answers have not come, by exchange, and what each is about.
pub(crate) struct Calls<A>(BTreeMap<u64, Call<A>>);

struct Call<A> {
    ticket: Ticket,
    about: A,
}

impl<A> Calls<A> {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn insert(&mut self, ticket: Ticket, about: A) {
        self.0.insert(ticket.exchange, Call { ticket, about });
    }

    /// An answer came.
    pub(crate) fn remove(&mut self, exchange: u64) -> Option<A> {
        self.0.remove(&exchange).map(|call| call.about)
    }

    /// No answer came in time; whether the connection breaks by that is left to the dice.
    pub(crate) fn give_up(&mut self, exchange: u64, scene: &mut Scene) -> Option<A> {
        let call = self.0.remove(&exchange)?;
        call.ticket.broken.set(scene.dice.chance(700));
        Some(call.about)
    }

    /// Breaks the connections of calls whose response is no longer needed.
    pub(crate) fn take_back(&mut self, is_it: impl Fn(&A) -> bool) {
        let gone = self.0.extract_if(.., |_, call| is_it(&call.about));
        gone.for_each(|(_, call)| call.ticket.broken.set(true));
    }

    /// The sender dies with its connections; the other side may not notice.
    pub(crate) fn break_off(self, scene: &mut Scene) {
        for call in self.0.values() {
            call.ticket.broken.set(scene.dice.chance(500));
        }
    }
}

/// Timeout of a request that may be held back for a while.
pub(crate) fn patience(usual: RangeInclusive<i64>, wait: Option<Millis>) -> RangeInclusive<i64> {
    let waits = wait.map_or(0, |wait| wait.0);
    waits + usual.start()..=waits + usual.end()
}

/// Defines what machines do by themselves: one kind for each kind of program.
macro_rules! chores {
    ($($kind:ident: $chore:ty),* $(,)?) => {
        /// Something that a machine does by itself.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Chore {
            $($kind($chore)),*
        }

        $(impl From<$chore> for Chore {
            fn from(chore: $chore) -> Self {
                Self::$kind(chore)
            }
        })*
    };
}

chores! {
    Agent: node::AgentChore,
    Node: node::NodeChore,
    Renderer: farm::RendererChore,
    PlainRenderer: farm::PlainChore,
    Member: pool::MemberChore,
    PlainMember: pool::PlainChore,
}

/// Timeout of a request that should be answered at once.
pub(crate) const PATIENCE_MS: RangeInclusive<i64> = 2_000..=5_000;
/// Wakes at one moment that are not a loop.
const ROUNDS_MAX: u32 = 200;
