//! Room `cluster` of Helenus; see ARCHITECTURE.md.
