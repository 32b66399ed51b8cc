//! Speaks contract Q: runs, devices, PCs, explain, and the PostgREST-style RPCs.
