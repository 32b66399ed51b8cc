//! Tells people, and hears them (C18).
