//! Removes what is over and old (C21).
