//! Room `schema` of Helenus; see ARCHITECTURE.md.
