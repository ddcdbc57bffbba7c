//! Room `query` of Helenus; see ARCHITECTURE.md.
