//! Any program, once per range (S27).

use super::{
    Broken, Commission, blocking, completion::Rendered, fragment::Fragment, frame_files::FrameFiles,
    lines::Lines, output::Output,
};
use muster_worker_kit::process::{Ending, Guards, Program, base_environment, program_name as name};
use std::{
    convert::Infallible,
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

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
        let progress = ProgramProgress::new(commission, output);
        let mut hear = |bytes: &[u8]| progress.hear(bytes);
        let end = tokio::select! {
            end = self.guards.run_heard(&program, commission.cancel, &mut hear) => end,
            never = progress.keep_counting() => match never {},
        };
        let end =
            end.map_err(|error| Broken::Failed(format!("cannot start {}: {error}", name(&self.argv))))?;
        match end.ending {
            Ending::Exited(0) => Ok(self.rendered(progress.dropped(), commission, output)),
            Ending::Exited(code) => {
                // The frame after the last file is the one that failed (S26b).
                progress.count().await;
                Err(Broken::Failed(end.complaint(&self.argv, code)))
            }
            Ending::Cancelled => Err(Broken::Stopped),
        }
    }

    fn rendered(&self, dropped: u64, commission: &Commission<'_>, output: &Output) -> Rendered {
        let fragment = Fragment::name(commission.worker, commission.task.ids.chunk);
        Rendered { dropped, has_fragment: output.has(&fragment), ..Rendered::default() }
    }
}

/// The progress of a program: what it prints, or else the frame files that it writes.
struct ProgramProgress<'a> {
    commission: &'a Commission<'a>,
    lines: Mutex<Lines>,
    files: Arc<Mutex<FrameFiles>>,
}

impl<'a> ProgramProgress<'a> {
    fn new(commission: &'a Commission<'a>, output: &Output) -> Self {
        let frames = commission.task.frames;
        let files = Arc::new(Mutex::new(FrameFiles::new(output.directory(), frames)));
        Self { commission, lines: Mutex::new(Lines::new(frames)), files }
    }

    fn hear(&self, bytes: &[u8]) {
        let seen = self.lines.lock().unwrap_or_else(PoisonError::into_inner).hear(bytes);
        seen.into_iter().for_each(|seen| self.commission.seen(seen));
    }

    /// Counts the files again and again; never ends by itself.
    async fn keep_counting(&self) -> Infallible {
        loop {
            tokio::time::sleep(COUNT_EVERY).await;
            self.count().await;
        }
    }

    async fn count(&self) {
        let files = Arc::clone(&self.files);
        let count = move || files.lock().unwrap_or_else(PoisonError::into_inner).count();
        // Progress is only a hint: the program goes on without it.
        let Ok(leading) = blocking(count).await else { return };
        let seen = self.lines.lock().unwrap_or_else(PoisonError::into_inner).count_files(leading);
        seen.into_iter().for_each(|seen| self.commission.seen(seen));
    }

    fn dropped(&self) -> u64 {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).seen().dropped
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
/// As often as progress is told.
const COUNT_EVERY: Duration = Duration::from_secs(1);
const SCENARIO_FILE: &str = "scenario.json";
