//! Fragments that are at hand.

use crate::merge::{Source, Take};
use std::{collections::HashMap, io};

/// Files in memory, in the order in which they were given.
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
}
