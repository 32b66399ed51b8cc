//! Every page in every language. One test for each language, so that they are looked at side by side.

use crate::stage::Stage;

#[test]
fn in_english() {
    Stage::new().everything().play_in("pages", "en");
}

#[test]
fn in_korean() {
    Stage::new().everything().play_in("pages", "ko");
}

#[test]
fn in_portuguese() {
    Stage::new().everything().play_in("pages", "pt");
}
