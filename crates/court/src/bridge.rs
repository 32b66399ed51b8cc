//! Hands tasks to the coordinator's fleets and brings their ends back (C17).
