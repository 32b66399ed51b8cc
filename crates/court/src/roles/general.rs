//! Runs a domain's tasks (C16).
