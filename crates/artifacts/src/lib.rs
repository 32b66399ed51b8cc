//! Files that tasks leave behind: signed uploads, signed links, and the store that keeps the files (N21).
//!
//! A [`Template`] makes a [`StoragePath`] that cannot leave the store. A [`Claim`] describes one upload, and a [`Signer`]
//! signs it, so that the uploader needs no other proof. A [`LinkSigner`] signs links that open one file. An
//! [`ArtifactStore`] takes the bytes: in pieces, over restarts, and shows a file only when it is complete.
//! [`DirectoryStore`] is the one implementation; object storage would be another one behind the same trait. Nothing here
//! knows HTTP, tasks or leases, and nothing reads a clock.

mod directory;
mod hash;
mod path;
mod signature;
mod store;
mod template;

pub use directory::DirectoryStore;
pub use hash::{ContentHash, HashError};
pub use path::{PathError, StoragePath, escape};
pub use signature::{Claim, LinkSigner, Proof, ProofError, Signer};
pub use store::{ArtifactStore, Finished, Kept, Opened, Progress, StoreError, Upload};
pub use template::{Template, TemplateError};
