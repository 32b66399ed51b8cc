//! The operator's pages.
//!
//! [`pages`] serves the files of `assets/`: plain modules that a browser loads as they are, without a build step and
//! without anything from elsewhere.

mod assets;
mod pages;

pub use pages::pages;
