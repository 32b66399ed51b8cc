//! Watches the host (C19).
