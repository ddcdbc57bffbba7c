//! Room `sim` of Helenus; see ARCHITECTURE.md.
