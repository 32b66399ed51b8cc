//! End to end: the real binary, kill -9 included.
