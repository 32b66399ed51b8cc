//! Speaks contract N: device nodes pull work and push callbacks.
