//! The envelope: `{"checkpoint": {"distributed": {…}}, "sha256": "…"}`.

use super::content::Checkpoint;
use muster_http::{Fields, Problem};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Why a document is no checkpoint that can be restored.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// More than anybody would write.
    #[error("it has more than {} MiB; no checkpoint is that large", BYTES_MAX >> 20)]
    TooLarge,
    /// Not JSON at all, or cut off.
    #[error("it is no JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Something in it was changed after it was written.
    #[error(
        "its sha256 is {said}, but that of what it holds is {found}: it was changed or damaged; take another one"
    )]
    Hash {
        /// In the document.
        said: String,
        /// Of the document.
        found: String,
    },
    /// A field has a value that it cannot have, or that does not fit the others.
    #[error("{0}")]
    Field(String),
}

impl From<Problem> for ReadError {
    fn from(problem: Problem) -> Self {
        Self::Field(problem.detail().to_owned())
    }
}

impl Checkpoint {
    /// Reads a document as `GET /api/v1/checkpoint` answers it. However it is spaced, its hash must be that of the
    /// canonical form of what it holds.
    ///
    /// # Errors
    /// When it is damaged, or a field makes no sense by itself or beside the others; the error names it.
    pub fn read(document: &[u8]) -> Result<Self, ReadError> {
        if document.len() > BYTES_MAX {
            return Err(ReadError::TooLarge);
        }
        let document: Value = serde_json::from_slice(document)?;
        let fields = Fields::of(&document)?;
        let checkpoint = fields.required("checkpoint")?;
        let said = fields.text("sha256", 64)?;
        let found = crate::output::hex(&Sha256::digest(checkpoint.value.to_string().as_bytes()));
        if said != found {
            return Err(ReadError::Hash { said: said.to_owned(), found });
        }
        let distributed = checkpoint.fields()?.required("distributed")?.fields()?;
        Ok(Self::of(&distributed)?)
    }
}

/// The largest document that is read: a hundred times what a busy farm's takes.
pub const BYTES_MAX: usize = 1 << 30;
