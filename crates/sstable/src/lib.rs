//! SSTable format of Helenus; see ARCHITECTURE.md.
