//! Room `tools` of Helenus; see ARCHITECTURE.md.
