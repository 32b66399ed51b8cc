//! Accounts: `muster login`, `muster logout`, `muster user add|passwd|disable|enable|list` (P1), and `muster key
//! add|list|revoke`, the API keys of whoever is logged in (P13). Passwords come from standard input or a terminal that does
//! not show them, never from the command line (I6).

use super::client_command::{Action, Conversation, Limit, Noun, block_on};
use crate::{
    client::{Answer, Client, ClientError, Listing},
    failure::{Exit, Failure},
    login_file::{self, LoginFile, StoredLogin},
    output,
    reach::{self, Reach, Reason},
};
use clap::{Args, Subcommand};
use muster_accounts::wire::NewApiKey;
use muster_model::Role;
use muster_worker_kit::http::Servers;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::{Value, json};
use std::io::{self, BufRead, IsTerminal, Write};

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
            None if io::stdin().is_terminal() => ask("user")?,
            None => return Err(Failure::Usage("no terminal to ask who logs in: use --user".to_owned())),
        };
        let password = read_password(self.password_stdin, "password")?;
        let form = json!({"grant_type": "password", "username": user, "password": password});
        let token = block_on(client.post(&["auth", "login"], &form))??;
        let login = login_file::Login::begun(&user, token);
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
        match block_on(client.post::<Value>(&["auth", "logout"], &()))? {
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

pub(crate) type User = Noun<UserAction>;
pub(crate) type Key = Noun<KeyAction>;

#[derive(Debug, Subcommand)]
pub(crate) enum UserAction {
    /// Add a user
    Add {
        /// Login name
        name: String,
        /// Role: CLIENT, WORKER_OWNER, VIEWER, OPERATOR or ADMIN; may be given several times
        #[arg(long, value_name = "ROLE", required = true, value_parser = parse_role)]
        role: Vec<Role>,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Give a user a new password; ends their logins
    Passwd {
        /// Who
        name: String,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
        /// Give the current password before the new one, as who is no ADMIN must
        #[arg(long)]
        current: bool,
    },
    /// Put a user out of service; their tokens stop working at once
    Disable {
        /// Who
        name: String,
    },
    /// Put a user into service again
    Enable {
        /// Who
        name: String,
    },
    /// List users
    List(Limit<100_000>),
}

impl Action for UserAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        let (name, change) = match self {
            Self::Add { name, role, password_stdin } => {
                let roles: Vec<_> = role.into_iter().map(Role::as_str).collect();
                let password = choose_password(password_stdin)?;
                let user = json!({"username": name, "password": password, "roles": roles});
                let answer: Value = talk.client.post(&["users"], &user).await?;
                return Ok(talk.confirm(&answer, format_args!("{name}: added")));
            }
            Self::List(Limit { limit }) => {
                let listing = Listing { path: &["users"], name: "users", query: Vec::new(), limit };
                return talk.list(listing, &["id", "username", "roles", "active", "created_at"]).await;
            }
            Self::Passwd { name, password_stdin, current } => {
                let current =
                    current.then(|| read_password(password_stdin, "current password")).transpose()?;
                let password = choose_password(password_stdin)?;
                (name, json!({"current_password": current, "password": password}))
            }
            Self::Disable { name } => (name, json!({"active": false})),
            Self::Enable { name } => (name, json!({"active": true})),
        };
        let answer = talk.client.patch(&["users", &name], &change).await?;
        Ok(talk.confirm(&answer, format_args!("{name}: changed")))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyAction {
    /// Make a key and print it, this once
    Add {
        /// A name for people
        name: String,
        /// Let the key do only this, of what its user may; may be given several times
        #[arg(long, value_name = "ROLE", value_parser = parse_role)]
        scope: Vec<Role>,
    },
    /// List your keys
    List(Limit<100_000>),
    /// Take a key back; it stops working at once
    Revoke {
        /// Which one
        id: u64,
        #[command(flatten)]
        reason: Reason,
    },
}

impl Action for KeyAction {
    async fn run(self, talk: &Conversation) -> Result<Exit, Failure> {
        match self {
            Self::Add { name, scope } => add_key(talk, &name, &scope).await?,
            Self::List(Limit { limit }) => {
                let listing = Listing { path: &["api-keys"], name: "api_keys", query: Vec::new(), limit };
                let columns = ["id", "name", "prefix", "scopes", "created_at", "last_used_at", "revoked_at"];
                return talk.list(listing, &columns).await;
            }
            Self::Revoke { id, reason } => {
                talk.client.delete(&["api-keys", &id.to_string()], &reason).await?;
                eprintln!("key {id}: revoked");
            }
        }
        Ok(Exit::Fine)
    }
}

async fn add_key(talk: &Conversation, name: &str, scope: &[Role]) -> Result<(), Failure> {
    let scopes: Vec<_> = scope.iter().map(|role| role.as_str()).collect();
    let scopes = Some(scopes).filter(|scopes| !scopes.is_empty());
    let answer: Answer<NewApiKey> =
        talk.client.post(&["api-keys"], &json!({"name": name, "scopes": scopes})).await?;
    if talk.json {
        output::document(&answer.raw);
    } else {
        eprintln!("key {} is shown this once:", answer.read.id);
        output::line(&answer.read.key);
    }
    Ok(())
}

/// A role by its name, in letters of either size.
fn parse_role(text: &str) -> Result<Role, String> {
    let word = text.to_ascii_uppercase().replace('-', "_");
    let known = || Role::ALL.map(Role::as_str).join(", ");
    Role::from_word(&word).ok_or_else(|| format!("there are {}", known()))
}

/// Reads a password: a line of standard input, or typed unseen.
fn read_password(from_stdin: bool, prompt: &str) -> Result<String, Failure> {
    if from_stdin {
        return line("standard input");
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("no terminal to ask for a password: use --password-stdin".to_owned()));
    }
    let _unseen = Unseen::begin()?;
    eprint!("{prompt}: ");
    let password = line("the terminal");
    eprintln!();
    password
}

/// Reads a new password; typed unseen it is asked for twice.
fn choose_password(from_stdin: bool) -> Result<String, Failure> {
    let password = read_password(from_stdin, "new password")?;
    if !from_stdin && read_password(false, "once more")? != password {
        return Err(Failure::Usage("the two passwords differ".to_owned()));
    }
    Ok(password)
}

/// Reads an answer that may be seen.
fn ask(prompt: &str) -> Result<String, Failure> {
    eprint!("{prompt}: ");
    io::stderr().flush()?;
    line("the terminal")
}

fn line(origin: &str) -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Failure::Usage(format!("{origin} held nothing")));
    }
    Ok(text.to_owned())
}

/// The terminal shows nothing that is typed while this lives.
struct Unseen(Termios);

impl Unseen {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &unseen)?;
        Ok(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1: roles are known by their names.
    #[test]
    fn roles_are_known_by_name() {
        assert_eq!(parse_role("worker-owner"), Ok(Role::WorkerOwner));
        assert_eq!(parse_role("ADMIN"), Ok(Role::Admin));
        assert!(parse_role("root").unwrap_err().contains("VIEWER"));
    }
}
