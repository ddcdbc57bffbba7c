//! Room `server` of Helenus; see ARCHITECTURE.md.
