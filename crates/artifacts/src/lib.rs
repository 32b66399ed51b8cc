//! Files that tasks leave behind: the proof that one may be uploaded, and the place where it is kept (N21).
//!
//! A [`Template`] makes a [`StoragePath`] that cannot leave the store. A [`Claim`] says what will be uploaded there, and
//! a [`Signer`] makes a proof of it that whoever holds can show. An [`ArtifactStore`] takes the bytes: in pieces, over
//! restarts, and shows a file only when all of it is there. [`DirectoryStore`] is the one that exists; object storage
//! would be another behind the same trait. Nothing here knows HTTP, tasks or leases, and nothing reads a clock.

mod claim;
mod directory;
mod hash;
mod path;
mod store;
mod template;

pub use claim::{Claim, ProofError, Signer};
pub use directory::DirectoryStore;
pub use hash::{ContentHash, HashError};
pub use path::{PathError, StoragePath, escape};
pub use store::{ArtifactStore, Finished, Kept, Opened, Progress, StoreError, Upload};
pub use template::{Template, TemplateError};
