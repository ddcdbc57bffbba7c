//! Room `cql` of Helenus; see ARCHITECTURE.md.
