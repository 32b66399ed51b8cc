//! The keys of simulated workers: real ones, made from their names.

use muster_proof::{KeyPair, PublicKey};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

/// A worker's key.
pub(super) struct WorkerKey {
    pub(super) pair: KeyPair,
    pub(super) public: PublicKey,
    /// The public half as text.
    pub(super) text: Box<str>,
}

/// The key of a name.
pub(super) fn key_named(name: &str) -> Rc<WorkerKey> {
    KEYS.with_borrow_mut(|keys| Rc::clone(keys.named(name)))
}

/// The key of a public text that [`key_named`] made.
pub(super) fn key_of_text(text: &str) -> Option<Rc<WorkerKey>> {
    KEYS.with_borrow(|keys| keys.by_text.get(text).cloned())
}

/// Every key that was made in this thread: making one costs as much as a signature, and worlds use the same names.
#[derive(Default)]
struct Keys {
    by_name: BTreeMap<Box<str>, Rc<WorkerKey>>,
    by_text: BTreeMap<Box<str>, Rc<WorkerKey>>,
}

impl Keys {
    fn named(&mut self, name: &str) -> &Rc<WorkerKey> {
        let by_text = &mut self.by_text;
        self.by_name.entry(name.into()).or_insert_with(|| {
            let mut seed = [0; 32];
            name.bytes().zip(&mut seed).for_each(|(byte, seed)| *seed = byte);
            let pair = KeyPair::from_seed(&seed);
            let (public, text) = (pair.public_key(), Box::from(pair.public_text()));
            let key = Rc::new(WorkerKey { pair, public, text });
            by_text.insert(key.text.clone(), Rc::clone(&key));
            key
        })
    }
}

thread_local! {
    static KEYS: RefCell<Keys> = RefCell::default();
}
