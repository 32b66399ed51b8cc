//! Point reads of what memory has forgotten.

use crate::{
    column::Column,
    pipeline::Pipeline,
    session::{Home, Purpose, Session},
    statement,
    target::Target,
    value::PgCells,
};
use futures_util::TryStreamExt;
use muster_model::{Facts, Key};
use muster_store::{Lookup, StoreError};
use muster_tables::{Fault, LookupKind, LookupPlan};
use std::{collections::HashMap, sync::Arc};
use tokio_postgres::{Row, Statement};

/// A connection for the driver alone.
pub(crate) struct PostgresLookup {
    target: Arc<Target>,
    session: Session,
    /// By the address of the kind they are for: there is one of each, and it stays.
    statements: HashMap<usize, Statement>,
}

impl PostgresLookup {
    pub(crate) fn open(target: &Arc<Target>) -> Result<Self, StoreError> {
        let session = Session::open(target, Purpose::Lookup)?;
        Ok(Self { target: Arc::clone(target), session, statements: HashMap::new() })
    }

    /// The server that it asks.
    pub(crate) fn home(&self) -> Home {
        self.session.home()
    }

    /// Asks for all kinds in one round trip.
    fn try_facts(&mut self, keys: &[Key]) -> Result<Facts, Fault> {
        if !self.session.is_open() {
            self.session = self.session.open_again(&self.target, Purpose::Lookup)?;
            self.statements.clear();
        }
        let mut asked = Vec::new();
        for plan in muster_tables::plan(keys) {
            asked.push((plan.kind, self.statement(plan.kind)?, columns(&plan)?));
        }
        let client = self.session.client();
        let requests = asked.iter().map(|(_, statement, columns)| async move {
            client.query_raw(statement, columns).await?.try_collect::<Vec<Row>>().await
        });
        let (mut pipeline, mut facts) = (Pipeline::new(requests), Facts::default());
        for (kind, ..) in &asked {
            let rows = self.session.ask(pipeline.next())?.unwrap_or_default();
            rows.iter().try_for_each(|row| kind.read(&PgCells::new(row), &mut facts))?;
        }
        Ok(facts)
    }

    fn statement(&mut self, kind: &'static LookupKind) -> Result<Statement, Fault> {
        let address = std::ptr::from_ref(kind).addr();
        if let Some(statement) = self.statements.get(&address) {
            return Ok(statement.clone());
        }
        let statement = self.session.statement(&statement::lookup(kind))?;
        self.statements.insert(address, statement.clone());
        Ok(statement)
    }
}

impl Lookup for PostgresLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        if keys.is_empty() {
            return Ok(Facts::default());
        }
        self.try_facts(keys).map_err(StoreError::from)
    }
}

/// What the key columns of a kind must hold.
fn columns(plan: &LookupPlan<'_>) -> Result<Vec<Column>, Fault> {
    let mut columns: Vec<Column> = plan.kind.key.iter().map(|_| Column::default()).collect();
    for key in &plan.keys {
        plan.kind.values(key, &mut |values| {
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
            Ok(())
        })?;
    }
    Ok(columns)
}
