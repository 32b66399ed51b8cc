//! The rules of the files, each by its id.
