//! The verbs of Muster: decides what commands make true, and makes it so.
