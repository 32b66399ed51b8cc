//! Making the files of a range: with the built-in renderer, or with any program (S27).

mod completion;
mod output;
mod program;
mod synthetic;

pub use program::Exec;
pub use synthetic::Synthetic;

use super::{
    Master, Task,
    core::{End, Seen},
};
use completion::Finished;
use muster_model::Ratio;
use muster_worker_kit::Text;
use muster_worker_kit::clock::instant_now;
use output::{Output, OutputError};
use std::{path::Path, sync::Arc};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A renderer.
#[derive(Debug)]
pub enum Renderer {
    /// The built-in one: small pictures of nothing, at any pace, without a GPU.
    Synthetic(Synthetic),
    /// A program, run once per range.
    Exec(Exec),
}

/// A range to be rendered, and what goes with it.
pub(super) struct Commission<'a> {
    pub(super) task: &'a Arc<Task>,
    /// Name of the worker.
    pub(super) worker: &'a str,
    /// Number of the worker's cameras.
    pub(super) cameras: u32,
    /// Directory that files may go to; nothing means everywhere.
    pub(super) root: Option<&'a Path>,
    /// Source of further ids.
    pub(super) master: &'a Master,
    /// Pace of rendering.
    pub(super) pace: watch::Receiver<Ratio>,
    pub(super) cancel: &'a CancellationToken,
    /// Hears how it goes.
    pub(super) tell: &'a (dyn Fn(Told) + Send + Sync),
}

/// Report of a renderer at work.
pub(super) enum Told {
    Seen(Seen),
    Remark(Text),
}

/// Reason why a range was not rendered.
#[derive(Debug, thiserror::Error)]
enum Broken {
    /// A stop was requested.
    #[error("it was stopped")]
    Stopped,
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Renderer {
    /// Renders a range. Returns when nothing of it runs any more, and all of it is on disk.
    pub(super) async fn run(&self, commission: &Commission<'_>) -> End {
        match self.render(commission).await {
            Ok(body) => End::Finished { body: body.into() },
            Err(Broken::Stopped) => End::Stopped,
            Err(_) if commission.cancel.is_cancelled() => End::Stopped,
            Err(broken) => End::Failed { error: broken.to_string().into() },
        }
    }

    async fn render(&self, commission: &Commission<'_>) -> Result<String, Broken> {
        let (directory, root) = (commission.task.directory.clone(), commission.root.map(Path::to_owned));
        let output = blocking(move || Output::prepare(Path::new(&*directory), root.as_deref())).await??;
        let output = Arc::new(output);
        let started = instant_now();
        let rendered = match self {
            Self::Synthetic(synthetic) => synthetic.run(commission, &output).await?,
            Self::Exec(exec) => exec.run(commission, &output).await?,
        };
        let finished = Finished {
            task: Arc::clone(commission.task),
            worker: commission.worker.to_owned(),
            cameras: commission.cameras,
            elapsed: started.elapsed(),
            rendered,
        };
        blocking(move || finished.hand_in(&output)).await?.map_err(Broken::Output)
    }
}

impl Commission<'_> {
    fn seen(&self, seen: Seen) {
        (self.tell)(Told::Seen(seen));
    }
}

/// Does what waits for the disk where nobody else waits.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Broken> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Broken::Failed(format!("rendering broke off: {error}")))
}
