//! The English explanations of the pages are generated from the table in `muster-explain`.

use muster_explain::{Row, rows};
use std::{env, fs};

/// Q16: the pages say what the table says. Run with `MUSTER_UPDATE=1` to write the file anew.
#[test]
fn the_pages_have_the_words_of_the_table() {
    let generated = module();
    if env::var_os("MUSTER_UPDATE").is_some() {
        fs::write(PATH, &generated).unwrap();
    }
    let checked_in = fs::read_to_string(PATH).unwrap();
    assert!(checked_in == generated, "{PATH} is stale; run this test again with MUSTER_UPDATE=1");
}

/// Q16: every code has a text in every other language as well.
#[test]
fn every_code_is_translated() {
    for language in ["ko", "pt"] {
        let path = format!("{ASSETS}/text/{language}/cause.js");
        let texts = fs::read_to_string(path).unwrap();
        for Row { code, .. } in rows() {
            assert!(texts.contains(&format!("\n  {code}: ")), "{language} has no text for {code}");
        }
    }
}

fn module() -> String {
    let causes: String = rows().map(|row| format!("  {}: {},\n", row.code, cause(row))).collect();
    let has_advice = |row: &&Row| row.advice != "Nothing.";
    let advices: String =
        rows().filter(has_advice).map(|row| format!("  {}: {},\n", row.code, quote(row.advice))).collect();
    format!(
        "// Generated from the table in crates/explain by crates/dashboard/tests/explanations.rs. Do not edit.\n\n\
         /** The sentence of each code. */\n\
         export const cause = {{\n{causes}}};\n\n\
         /** The advice for each code where there is something to do. */\n\
         export const advice = {{\n{advices}}};\n"
    )
}

/// A text of the pages; one with a number has a form for one and another for many.
fn cause(row: &Row) -> String {
    let says = required_part(row.says);
    let end = if REMARKS.iter().any(|key| says.ends_with(key)) { "" } else { "." };
    let form = |is_one| quote(&format!("{{subject}} {}{end}", placeholders(&says, is_one)));
    match says.contains('#') {
        true => format!("{{ one: {}, other: {} }}", form(true), form(false)),
        false => form(false),
    }
}

/// Leaves out the optional parts: the pages add remarks on their own.
fn required_part(says: &str) -> String {
    let mut text = String::new();
    let mut rest = says;
    while let Some((before, part)) = rest.split_once('[') {
        text.push_str(before);
        rest = part.split_once(']').expect("brackets are closed").1;
    }
    text + rest
}

/// Writes placeholders as the pages know them: `{n}` for the number, `{key_ago}` and `{key_in}` for spans.
fn placeholders(says: &str, is_one: bool) -> String {
    let mut text = String::new();
    let mut rest = says;
    while let Some((before, part)) = rest.split_once('{') {
        let (key, after) = part.split_once('}').expect("braces are closed");
        text.push_str(before);
        text.push_str(&match key.split_once('#') {
            Some((_, nouns)) => {
                let (one, many) = nouns.split_once('|').expect("a noun has two forms");
                format!("{{n}} {}", if is_one { one } else { many })
            }
            None => format!("{{{}}}", key.replace(':', "_")),
        });
        rest = after;
    }
    text + rest
}

/// A string of JavaScript. Pages show plain text, so marks of code are left out.
fn quote(text: &str) -> String {
    serde_json::to_string(&text.replace('`', "")).expect("a text can be written as JSON")
}

/// Values that people wrote, which end as they end.
const REMARKS: [&str; 3] = ["{reason}", "{error}", "{question}"];

const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/text/en/explanations.js");
