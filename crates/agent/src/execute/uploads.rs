//! What the executor needs of whoever uploads.

use crate::driver::StepFailure;
use crate::{Artifact, Job};
use std::{fmt::Debug, path::Path, pin::Pin};
use tokio_util::sync::CancellationToken;

/// Takes the files that tasks leave behind to where they are kept (N21).
pub trait Uploads: Debug + Send + Sync {
    /// Uploads a file. Returns soon after `cancel` was asked for.
    fn upload<'a>(&'a self, upload: Upload<'a>) -> UploadFuture<'a>;
}

/// An upload under way.
pub type UploadFuture<'a> = Pin<Box<dyn Future<Output = Result<Artifact, StepFailure>> + Send + 'a>>;

/// A file to be uploaded.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    /// Whose file.
    pub job: &'a Job,
    /// Where it lies.
    pub file: &'a Path,
    /// Such as `screenshot`.
    pub kind: &'a str,
    /// Such as `image/png`.
    pub content_type: &'a str,
    /// Tells several uploads of one task apart; the step's id where its workflow has more than one.
    pub name: Option<&'a str>,
    /// The workflow's template for the path, where it has one.
    pub storage_path: Option<&'a str>,
    /// Asks to end.
    pub cancel: &'a CancellationToken,
}
