//! An append-only, checksummed log on disk of what must not be lost.
