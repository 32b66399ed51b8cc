//! The shape that client commands share: `muster NOUN ACTION`, a conversation with the server, and flags that many
//! actions take.

use crate::{
    client::{Client, Listing, Order},
    failure::{Exit, Failure},
    output,
    reach::{Reach, Reason},
};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::fmt::Display;

/// A noun of the command line with one of its actions.
#[derive(Debug, Args)]
pub(crate) struct Noun<A: Subcommand> {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: A,
}

/// An action of a noun.
pub(super) trait Action: Subcommand {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure>;
}

impl<A: Action> Noun<A> {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let Self { reach, action } = self;
        converse(&reach, async |talk| action.run(talk).await)
    }
}

/// A conversation with the server, and the form of its output.
pub(super) struct Conversation {
    pub(super) client: Client,
    /// With `--json`: one document, and nothing else on standard output.
    pub(super) json: bool,
}

/// Runs a client command's conversation with the server that was found.
pub(super) fn converse(
    reach: &Reach,
    conversation: impl AsyncFnOnce(&Conversation) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let talk = Conversation { client: Client::find(reach)?, json: reach.json };
    block_on(conversation(&talk))?
}

pub(super) fn block_on<T>(conversation: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(conversation))
}

impl Conversation {
    /// Prints a list.
    pub(super) async fn list(&self, listing: Listing<'_>, columns: &[&str]) -> Result<Exit, Failure> {
        let name = listing.name;
        let rows: Vec<Value> = self.client.list(listing).await?;
        output::listing(&json!({ name: rows }), name, columns, self.json);
        Ok(Exit::Fine)
    }

    /// Prints one object.
    pub(super) async fn show(&self, path: &[&str]) -> Result<Exit, Failure> {
        Ok(self.print(&self.client.get(path, &[]).await?))
    }

    /// Has something done, and prints the object that it was done to.
    pub(super) async fn order(&self, path: &[&str], reason: &Reason) -> Result<Exit, Failure> {
        Ok(self.print(&self.client.order(path, &json!({}), Order::because(reason)).await?))
    }

    /// Prints one object.
    pub(super) fn print(&self, object: &Value) -> Exit {
        output::object(object, self.json);
        Exit::Fine
    }

    /// Prints the response with `--json`; people read on standard error that it is done.
    pub(super) fn confirm(&self, response: &Value, words: impl Display) -> Exit {
        if self.json {
            output::document(response);
        } else {
            eprintln!("{words}");
        }
        Exit::Fine
    }
}

#[derive(Debug, Args)]
pub(crate) struct Id {
    /// Which one
    pub(super) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct IdAndReason {
    /// Which one
    pub(super) id: String,
    #[command(flatten)]
    pub(super) reason: Reason,
}

#[derive(Debug, Args)]
pub(crate) struct Limit<const DEFAULT: usize> {
    /// At most so many
    // `default_value_t` would keep its text in a static, which all defaults would share. A few bytes leak, once.
    #[arg(long, default_value = &*DEFAULT.to_string().leak())]
    pub(super) limit: usize,
}

/// Those filters of a list that were given.
pub(super) fn given<const N: usize>(
    filters: [(&'static str, Option<String>); N],
) -> Vec<(&'static str, String)> {
    filters.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// The word of a choice on the command line, which is the contract's.
pub(super) fn word_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().expect("no choice is hidden").get_name().to_owned()
}

/// Reads JSON from an argument: the text itself, or `@FILE`.
pub(super) fn json_argument(flag: &str, argument: &str) -> Result<Value, Failure> {
    let text = text_argument(flag, argument)?;
    let value: Result<Value, _> = serde_json::from_str(&text);
    value.map_err(|error| Failure::Usage(format!("{flag} must be JSON (or @FILE): {error}")))
}

/// The text of an argument, or of the file that `@FILE` names.
pub(super) fn text_argument(flag: &str, argument: &str) -> Result<String, Failure> {
    let Some(path) = argument.strip_prefix('@') else {
        return Ok(argument.to_owned());
    };
    let text = std::fs::read_to_string(path);
    text.map_err(|error| Failure::Usage(format!("{flag}: {path} cannot be read: {error}")))
}
