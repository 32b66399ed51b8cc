//! The coordinator's lives: the real desk and engine, with time, threads and disk played.

mod door;
mod errand;
mod life;
mod load;

pub(crate) use errand::{Errand, Push};
pub(crate) use life::Life;

use crate::{
    agenda::Happening,
    checker::{Checker, Verdict, broken},
    network::Ticket,
    planted::Planted,
    scene::Scene,
};
use muster_model::{Command, FrameCommand, Name, Registration};
use muster_store::{Batch, Failure, MemoryStore, Writer};
use std::{rc::Rc, sync::Arc};

/// The server, which may be down.
pub(crate) struct Coordinator {
    store: MemoryStore,
    lives: u32,
    life: Option<Life>,
    /// A writer of an earlier life and the batch it never got through.
    zombie: Option<(Box<dyn Writer>, Arc<Batch>)>,
    /// The next commit is the last thing this life does.
    doomed: bool,
    planted: Option<Planted>,
}

/// How a life ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// Power is gone; a batch with the store is kept or lost by chance.
    Crash,
    /// A stop as on a signal: who waits is answered, what was decided is kept.
    Stop,
}

impl Coordinator {
    pub(crate) fn new(planted: Option<Planted>) -> Self {
        Self { store: MemoryStore::new(), lives: 0, life: None, zombie: None, doomed: false, planted }
    }

    pub(crate) fn life(&self) -> Option<&Life> {
        self.life.as_ref()
    }

    /// Begins the next life on what the store kept.
    pub(crate) fn start(&mut self, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if self.life.is_some() {
            return Ok(());
        }
        self.lives += 1;
        scene.count("coordinator started");
        scene.note(|| format!("coordinator: life {} begins", self.lives));
        let mut life = Life::begin(&self.store, self.lives, (scene, self.planted))?;
        checker.life_begins(scene.now);
        self.defy_the_dead()?;
        life.look_round(scene, checker)?;
        self.life = Some(life);
        Ok(())
    }

    /// A request reaches the server; there may be nobody.
    pub(crate) fn arrives(&mut self, ticket: Ticket, scene: &mut Scene) {
        match &mut self.life {
            Some(life) if life.turns_out(&ticket) => {
                scene.count("token refused");
                scene.turn_out(ticket);
            }
            Some(life) => {
                let ticket = enrol(ticket, scene);
                life.receive(ticket, scene);
            }
            None if scene.dice.chance(scene.plan.turned_away) => {
                scene.count("request turned away");
                scene.turn_away(ticket);
            }
            None => scene.count("request found nobody"),
        }
    }

    pub(crate) fn serve(&mut self, life: u32, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match self.current(life) {
            Some(life) => life.serve(scene, checker),
            None => Ok(()),
        }
    }

    pub(crate) fn wake(&mut self, life: u32, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match self.current(life) {
            Some(life) => life.wake(scene, checker),
            None => Ok(()),
        }
    }

    /// Something is done beside a life, unless it is over.
    pub(crate) fn run(
        &mut self,
        (life, errand): (u32, Errand),
        scene: &mut Scene,
        checker: &mut Checker,
    ) -> Verdict {
        match self.current(life) {
            Some(life) => life.run(errand, scene, checker),
            None => Ok(()),
        }
    }

    /// A push was answered.
    pub(crate) fn acked(&mut self, life: u32, (number, acked): (u64, bool), scene: &mut Scene) {
        if let Some(life) = self.current(life) {
            life.pushed(number, acked, scene);
        }
    }

    /// The moment at which the store has the batch, or says that it failed.
    pub(crate) fn durable(&mut self, life: u32, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        if self.current(life).is_none() {
            return Ok(());
        }
        let failure = planned_failure(scene);
        if let Some(failure) = failure {
            self.store.fail_next(failure);
        }
        let Some(life) = self.current(life) else {
            return Ok(());
        };
        match (life.commit()?, failure) {
            (batch, None) => {
                checker.durable(&batch, scene)?;
                scene.within(0, 10, Happening::Heard { life: life.number });
                Ok(())
            }
            (batch, Some(failure)) => {
                if failure == Failure::After {
                    checker.durable(&batch, scene)?;
                    scene.count("commit failed, yet kept");
                } else {
                    scene.count("commit failed");
                }
                scene.note(|| format!("coordinator: the commit failed ({failure:?}), the term ends"));
                self.life = None;
                scene.within(500, 1_500, Happening::Start);
                Ok(())
            }
        }
    }

    pub(crate) fn heard(&mut self, life: u32, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        match self.current(life) {
            Some(life) => {
                life.heard(scene, checker)?;
                life.look_round(scene, checker)
            }
            None => Ok(()),
        }
    }

    /// Has the power fail in the middle of the next commit.
    pub(crate) fn doom(&mut self) {
        self.doomed = true;
    }

    /// Whether the moment has come.
    pub(crate) fn must_crash(&self) -> bool {
        self.doomed && self.life.as_ref().is_some_and(Life::is_committing)
    }

    /// Ends the life.
    pub(crate) fn end(&mut self, ending: Ending, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        let Some(mut life) = self.life.take() else {
            return Ok(());
        };
        self.doomed = false;
        match ending {
            Ending::Crash => self.crash(life, scene, checker)?,
            Ending::Stop => {
                scene.count("coordinator stopped");
                scene.note(|| "coordinator: stops".into());
                life.stop(scene, checker)?;
            }
        }
        Ok(())
    }

    fn crash(&mut self, mut life: Life, scene: &mut Scene, checker: &mut Checker) -> Verdict {
        scene.count("coordinator crashed");
        if !life.is_committing() {
            scene.note(|| "coordinator: crashes".into());
        } else if scene.dice.chance(500) {
            scene.count("crash in a commit, all kept");
            scene.note(|| "coordinator: crashes in a commit; all of it is kept".into());
            let batch = life.commit()?;
            checker.durable(&batch, scene)?;
        } else {
            scene.count("crash in a commit, nothing kept");
            scene.note(|| "coordinator: crashes in a commit; nothing of it is kept".into());
            self.zombie = life.into_zombie();
        }
        Ok(())
    }

    /// Invariant 10: what an earlier life still tries to write is refused.
    fn defy_the_dead(&mut self) -> Verdict {
        let Some((mut writer, batch)) = self.zombie.take() else {
            return Ok(());
        };
        match writer.commit(&batch) {
            Ok(()) => broken("older_term_writes", || "a writer of an earlier life committed".into()),
            Err(_) => Ok(()),
        }
    }

    fn current(&mut self, number: u32) -> Option<&mut Life> {
        self.life.as_mut().filter(|life| life.number == number)
    }
}

/// Whoever enrols is given a token, a new one each time (S1).
fn enrol(ticket: Ticket, scene: &mut Scene) -> Ticket {
    let Command::Frames(FrameCommand::Register(registration)) = &*ticket.command else {
        return ticket;
    };
    let token_hash = scene.dice.bytes();
    let registration = Registration { token_hash, ..(**registration).clone() };
    let command = Rc::new(Command::Frames(FrameCommand::Register(Box::new(registration))));
    Ticket { command, token: Some(token_hash), ..ticket }
}

fn planned_failure(scene: &mut Scene) -> Option<Failure> {
    let fails = !scene.calm && scene.dice.chance(scene.plan.commit_fails);
    fails.then_some(match scene.dice.chance(500) {
        true => Failure::Before,
        false => Failure::After,
    })
}

/// Whose sign of life a command is, if it is anybody's (N15).
pub(crate) fn speaker(command: &Command) -> Option<&Name> {
    match command {
        Command::Pull(pull) => Some(&pull.worker),
        Command::Sight { worker } | Command::Claim { worker, .. } => Some(worker),
        Command::Report(report) => Some(&report.worker),
        _ => None,
    }
}
