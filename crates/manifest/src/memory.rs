//! Fragments in memory.

use crate::{
    completions::COMPLETIONS,
    merge::{Source, Take, TakeLine},
};
use std::{collections::HashMap, io};

/// Files in memory, in their order of insertion. One of them may be [`COMPLETIONS`].
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: Vec<(String, Vec<u8>)>,
    places: HashMap<String, usize>,
}

impl FromIterator<(String, Vec<u8>)> for Memory {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(files: T) -> Self {
        let files: Vec<_> = files.into_iter().collect();
        let places = files.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
        Self { files, places }
    }
}

impl Source for Memory {
    fn count(&mut self) -> io::Result<usize> {
        Ok(self.files.len())
    }

    fn each(&mut self, take: &mut Take<'_>) -> io::Result<()> {
        self.files.iter().for_each(|(name, bytes)| take(name, Ok(bytes)));
        Ok(())
    }

    fn again(&mut self, file: &str) -> io::Result<Vec<u8>> {
        let place = self.places.get(file).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.files[*place].1.clone())
    }

    fn completions(&mut self, take: &mut TakeLine<'_>) {
        let Some(place) = self.places.get(COMPLETIONS) else { return };
        let lines = self.files[*place].1.split_inclusive(|byte| *byte == b'\n');
        lines.for_each(|line| take(Ok(line.strip_suffix(b"\n").unwrap_or(line))));
    }
}
