//! Any program, once per range (S27).

use super::{Broken, Commission, completion::Rendered, fragment::Fragment, lines::Lines, output::Output};
use crate::complaint::{complaint, name};
use muster_agent::process::{Ending, Guards, Program, base_environment};
use std::{ffi::OsString, sync::Arc};

/// A program that renders.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Its name and its arguments.
    pub argv: Vec<String>,
    /// What ends it, with all its children.
    pub guards: Guards,
}

impl Exec {
    pub(super) async fn run(
        &self,
        commission: &Commission<'_>,
        output: &Arc<Output>,
    ) -> Result<Rendered, Broken> {
        let environment = environment(commission, output)?;
        let program = Program { argv: &self.argv, directory: output.directory(), environment };
        let mut lines = Lines::new(commission.task.frames);
        let mut hear = |bytes: &[u8]| {
            if let Some(seen) = lines.hear(bytes) {
                commission.seen(seen);
            }
        };
        let end = self.guards.run_heard(&program, commission.cancel, &mut hear).await;
        let end =
            end.map_err(|error| Broken::Failed(format!("cannot start {}: {error}", name(&self.argv))))?;
        match end.ending {
            Ending::Exited(0) => Ok(self.rendered(&lines, commission, output)),
            Ending::Exited(code) => Err(Broken::Failed(complaint(&self.argv, code, &end))),
            Ending::Cancelled => Err(Broken::Stopped),
        }
    }

    fn rendered(&self, lines: &Lines, commission: &Commission<'_>, output: &Output) -> Rendered {
        let fragment = Fragment::name(commission.worker, commission.task.ids.chunk);
        Rendered { dropped: lines.seen().dropped, has_fragment: output.has(&fragment), ..Rendered::default() }
    }
}

/// A clean environment, and what the program must know of its task.
fn environment(commission: &Commission<'_>, output: &Output) -> Result<Vec<(OsString, OsString)>, Broken> {
    let task = commission.task;
    let mut environment = base_environment();
    let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
    set("MUSTER_TASK_ID", (&*task.id).into());
    set("MUSTER_SESSION_ID", (&*task.session).into());
    set("MUSTER_FRAME_START", task.frames.start.to_string().into());
    set("MUSTER_FRAME_END", task.frames.end.to_string().into());
    set("MUSTER_CHUNK_ID", task.ids.chunk.to_string().into());
    set("MUSTER_ID_START", task.ids.start.to_string().into());
    set("MUSTER_ID_END", task.ids.end.to_string().into());
    set("MUSTER_OUTPUT_DIR", output.directory().into());
    set("MUSTER_WORKER_ID", commission.worker.into());
    if task.scenario.len() <= SCENARIO_BYTES_MAX {
        set("MUSTER_SCENARIO", (&*task.scenario).into());
    } else {
        output.write(SCENARIO_FILE, task.scenario.as_bytes())?;
        set("MUSTER_SCENARIO_FILE", output.directory().join(SCENARIO_FILE).into());
    }
    Ok(environment)
}

/// Linux takes no longer text in an environment than 128 KiB.
const SCENARIO_BYTES_MAX: usize = 100 << 10;
const SCENARIO_FILE: &str = "scenario.json";
