//! Questions that wait for people, and their answers (C14).
