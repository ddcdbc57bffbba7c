//! Room `protocol` of Helenus; see ARCHITECTURE.md.
