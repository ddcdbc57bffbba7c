//! The allocator: mimalloc, set up so that the resident size follows what is in use.
//!
//! Memtables of many tables fill and empty in turn; with mimalloc's defaults a node under writes held two to three times what
//! it used, and more than `--memory` after ten minutes. Transparent huge pages are off (a feature of the crate): pages freed in
//! between could not be given back, and an idle node was 14 MiB larger. Measured with `tests/memory/run.py`: 189 MiB in the
//! median with the defaults, 138 MiB so; a shorter delay saves more (122 MiB at 20 ms, 113 MiB at none) and costs up to a fifth
//! more CPU a write.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc 3's `mimalloc.h`, which the crate does not name.
const PURGE_DELAY: mi_option_t = 15;

/// How long a page without content is kept before the system gets it back. The default is a second.
const PURGE_DELAY_MILLIS: c_long = 100;

/// To be called once, first thing.
pub fn give_back_soon() {
    // SAFETY: mimalloc checks the option's number and stores a number that it reads again whenever it purges; it may be called
    // at any time, and there is one thread yet.
    unsafe { mi_option_set(PURGE_DELAY, PURGE_DELAY_MILLIS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_the_purge_delay_of_the_mimalloc_that_is_linked() {
        // SAFETY: it reads a number.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(before, 1_000, "mimalloc 3's default");
        give_back_soon();
        // SAFETY: as above.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, PURGE_DELAY_MILLIS);
    }
}
