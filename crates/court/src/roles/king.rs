//! Decides (C13–C15, C22).
