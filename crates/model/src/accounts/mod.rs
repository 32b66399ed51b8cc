//! Accounts: people with names and roles, their logins and API keys, and the audit log.

mod command;
mod record;
mod role;

pub use command::{AccountCommand, AccountEvent, AccountRejection, AccountReply, UserChange};
pub use record::{AccountChange, Actor, ApiKeyRecord, AuditRecord, LoginRecord, UserId, UserRecord};
pub use role::{Role, Roles};
