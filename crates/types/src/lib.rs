//! Room `types` of Helenus; see ARCHITECTURE.md.
