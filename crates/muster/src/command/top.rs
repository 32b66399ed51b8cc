//! `muster top`: fleet, queues and events on one screen, live (I3).
//!
//! `snapshot` asks, `state` decides (inputs in, actions out, no IO), `draw` shows, `screen` ties them to a terminal.

mod draw;
mod fleet;
mod keys;
mod screen;
mod snapshot;
mod state;
mod text;

use crate::{
    client::Client,
    failure::{Exit, Failure},
    output,
    reach::Reach,
};
use clap::Args;
use snapshot::Snapshot;
use std::{io::IsTerminal, sync::Arc};

#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    reach: Reach,
}

impl Top {
    /// One snapshot where nobody can press a key, else the live screen.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let client = Arc::new(Client::find(&self.reach)?);
        super::client_command::block_on(async {
            let first = snapshot::fetch(&client).await?;
            if self.reach.json {
                output::document(&first);
            } else if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
                return screen::show(client, &first).await;
            } else {
                output::line(&text::page(&Snapshot::read(&first)));
            }
            Ok(Exit::Fine)
        })?
    }
}
