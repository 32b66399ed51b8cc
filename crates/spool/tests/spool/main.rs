//! The log on disks that fail, crash and lie.

mod damage;
mod directory;
mod enumerated;
mod model;
mod promises;
mod world;
