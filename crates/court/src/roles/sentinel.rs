//! Watches sources (C18).
