//! Room `storage` of Helenus; see ARCHITECTURE.md.
