//! Texts that many fragments have, each kept once.

use std::{collections::HashMap, sync::Arc};

/// Texts and the small numbers that stand for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// Returns the number of a text, a new one for a new text.
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

    /// Returns the text of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}
