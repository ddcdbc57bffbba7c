//! Room `data` of Helenus; see ARCHITECTURE.md.
