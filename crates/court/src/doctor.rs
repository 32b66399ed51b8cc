//! Tells the whole story of a task, and what is stuck (C21).
