//! Files that tasks leave behind: signed upload URLs and the place they are kept.
