//! The shared store: a PostgreSQL database that several servers use, one of which leads.
