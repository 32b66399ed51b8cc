//! Stands in for what the coordinator does not offer yet.
use muster_coordinator::{Coordinator, Refusal};
use muster_model::{Actor, ApiKeyRecord, Command, LoginRecord, Reply, UserId, UserRecord};
use std::sync::Arc;

pub(crate) struct Nobody;
pub(crate) trait Awaited {
    fn accounts(&self) -> &Nobody {
        &Nobody
    }
    async fn ask_as(&self, actor: &Actor, command: Command) -> Result<Reply, Refusal>;
}
impl Awaited for Coordinator {
    async fn ask_as(&self, _: &Actor, command: Command) -> Result<Reply, Refusal> {
        self.ask(command).await
    }
}
impl Nobody {
    pub(crate) fn user(&self, _: UserId) -> Option<Arc<UserRecord>> {
        None
    }
    pub(crate) fn login(&self, _: u128) -> Option<LoginRecord> {
        None
    }
    pub(crate) fn key(&self, _: &[u8; 32]) -> Option<Arc<ApiKeyRecord>> {
        None
    }
}
