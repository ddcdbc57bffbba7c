//! Room `env` of Helenus; see ARCHITECTURE.md.
