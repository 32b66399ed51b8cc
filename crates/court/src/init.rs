//! Makes a court that runs as it is (C0).
