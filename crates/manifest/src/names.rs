//! Words that stand in many fragments, kept once.

use std::{collections::HashMap, sync::Arc};

/// Texts and the small numbers that stand for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// The number of a text, a new one where it is new.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).expect("no memory holds four billion texts");
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The number of a text that is known.
    pub(crate) fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The text of a number that was given out here.
    pub(crate) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}
