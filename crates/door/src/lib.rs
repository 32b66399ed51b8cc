//! What every request passes before a dialect sees it.
