//! An engine in memory, for tests. Filled in below.
