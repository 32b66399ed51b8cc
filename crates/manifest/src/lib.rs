//! The merge of manifest fragments: pure, streaming, independent of the order of its input.
