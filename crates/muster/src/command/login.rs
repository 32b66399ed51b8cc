//! `muster login` and `muster logout`: a token for the client commands (I5, P1).

use super::{block_on, input};
use crate::{
    client::{Client, ClientError},
    failure::{Exit, Failure},
    login_file::{self, LoginFile, StoredLogin},
    output,
    reach::{self, Reach},
};
use clap::Args;
use muster_worker_kit::http::Servers;
use serde_json::{Value, json};
use std::io::{self, IsTerminal};

#[derive(Debug, Args)]
pub(crate) struct Login {
    #[command(flatten)]
    reach: Reach,
    /// User name; asked for on a terminal
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Read the password from standard input
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    #[command(flatten)]
    reach: Reach,
}

impl Login {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let (file, client) = (find_file()?, Client::new(find_servers(&self.reach)?, None));
        let user = match self.user {
            Some(user) => user,
            None if io::stdin().is_terminal() => input::ask("user")?,
            None => return Err(Failure::Usage("no terminal to ask who logs in: use --user".to_owned())),
        };
        let password = input::read(self.password_stdin, "password")?;
        let form = json!({"grant_type": "password", "username": user, "password": password});
        let answer = block_on(client.post(&["auth", "login"], &form))??;
        let login = login_file::Login::begun(&user, &answer).ok_or_else(|| client.not_ours("no token"))?;
        let expires_in = login.lifetime;
        file.keep(client.servers(), &login, &file.lock()?)?;
        let path = file.path().display();
        if self.reach.json {
            output::document(&json!({
                "server": client.servers().first().as_str(), "user": user, "expires_in": expires_in, "file": path.to_string(),
            }));
        } else {
            eprintln!("logged in at {} as {user}; the token is kept in {path}", client.servers());
        }
        Ok(Exit::Fine)
    }
}

impl Logout {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let file = find_file()?;
        let servers = find_servers(&self.reach)?;
        let lock = file.lock()?;
        let StoredLogin::Login(login) = file.read(&servers)? else {
            eprintln!("not logged in at {servers}");
            return Ok(Exit::Fine);
        };
        let client = Client::new(servers, Some(login.token.clone()));
        match block_on(client.post(&["auth", "logout"], &Value::Null))? {
            // It was over already.
            Ok(_) | Err(ClientError::Unauthorized) => {}
            Err(error) => return Err(error.into()),
        }
        file.exchange(&login, None, &lock)?;
        eprintln!("logged out at {}", client.servers());
        Ok(Exit::Fine)
    }
}

fn find_file() -> Result<LoginFile, Failure> {
    let file = LoginFile::find(&|name: &str| std::env::var(name).ok());
    file.ok_or_else(|| Failure::Usage("nowhere to keep a token: set HOME or XDG_CONFIG_HOME".to_owned()))
}

fn find_servers(reach: &Reach) -> Result<Servers, Failure> {
    Ok(reach::servers(&reach.server, |name| std::env::var(name).ok())?)
}
