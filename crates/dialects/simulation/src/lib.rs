//! Contract S: sessions of frames over remote workers.
