//! A deterministic world in which the engine lives, crashes and is checked.
