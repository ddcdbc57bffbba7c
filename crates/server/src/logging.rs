//! Logs: lines for people or JSON for machines, on standard error; the level can be changed while the node runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

/// Changes what is logged. Cheap to clone.
#[derive(Clone)]
pub struct LogControl {
    handle: Option<reload::Handle<EnvFilter, Registry>>,
    levels: Arc<Mutex<String>>,
    error_count: Arc<AtomicU64>,
}

/// Counts ERROR lines: "exceptions" of `nodetool info`.
struct ErrorCounter {
    count: Arc<AtomicU64>,
}

impl<S: Subscriber> Layer<S> for ErrorCounter {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if *event.metadata().level() == Level::ERROR {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The text is no list of levels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no log level: expected error, warn, info, debug, trace or off, by part: info,helenus_storage=debug"
)]
pub struct UnknownLevel {
    text: String,
}

/// Starts logging for the whole process.
///
/// # Errors
/// [`UnknownLevel`].
pub fn start(levels: &str, json: bool) -> Result<LogControl, UnknownLevel> {
    let (filter, handle) = reload::Layer::new(parse(levels)?);
    let error_count = Arc::new(AtomicU64::new(0));
    let registry = tracing_subscriber::registry().with(filter).with(ErrorCounter { count: Arc::clone(&error_count) });
    let lines = fmt::layer().with_writer(std::io::stderr);
    // Fails when the process logs already, as tests may: then that logger stays.
    let started = if json {
        registry.with(lines.json()).try_init()
    } else {
        registry.with(lines.with_ansi(false).with_target(true)).try_init()
    };
    let levels = Arc::new(Mutex::new(levels.to_owned()));
    Ok(LogControl { handle: started.is_ok().then_some(handle), levels, error_count })
}

impl LogControl {
    /// As it was set last: `info,helenus_storage=debug`.
    #[must_use]
    pub fn levels(&self) -> String {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces all levels.
    ///
    /// # Errors
    /// [`UnknownLevel`]; nothing was changed.
    pub fn set(&self, levels: &str) -> Result<(), UnknownLevel> {
        let filter = parse(levels)?;
        if let Some(handle) = &self.handle {
            // The subscriber lives as long as the process.
            let _ = handle.reload(filter);
        }
        levels.clone_into(&mut self.levels.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Lines that were logged as ERROR since the start.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.error_count.load(Ordering::Relaxed)
    }

    /// Takes one part's own level away, so that it has everything's again.
    ///
    /// # Errors
    /// [`UnknownLevel`]; nothing was changed.
    pub fn clear_part(&self, part: &str) -> Result<(), UnknownLevel> {
        let old = self.levels();
        let kept = old.split(',').filter(|directive| directive.split_once('=').is_none_or(|(name, _)| name != part));
        self.set(&kept.collect::<Vec<_>>().join(","))
    }

    /// Sets one part's level, or everything's with an empty part; the rest stays.
    ///
    /// # Errors
    /// [`UnknownLevel`]; nothing was changed.
    pub fn set_part(&self, part: &str, level: &str) -> Result<(), UnknownLevel> {
        let old = self.levels();
        let of_part = |directive: &str| match directive.split_once('=') {
            Some((name, _)) => name == part,
            None => part.is_empty(),
        };
        let mut directives: Vec<String> = old
            .split(',')
            .filter(|directive| !directive.is_empty() && !of_part(directive))
            .map(ToOwned::to_owned)
            .collect();
        directives.push(if part.is_empty() { level.to_owned() } else { format!("{part}={level}") });
        self.set(&directives.join(","))
    }
}

fn parse(levels: &str) -> Result<EnvFilter, UnknownLevel> {
    let unknown = || UnknownLevel { text: levels.to_owned() };
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let is_known = |directive: &str| {
        let level = directive.split_once('=').map_or(directive, |(_, level)| level);
        LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level))
    };
    if !levels.split(',').all(|directive| is_known(directive.trim())) {
        return Err(unknown());
    }
    EnvFilter::try_new(levels).map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_change_by_part_and_as_a_whole() {
        let levels = Arc::new(Mutex::new("info".to_owned()));
        let control = LogControl { handle: None, levels, error_count: Arc::default() };
        control.set_part("helenus_storage", "debug").unwrap();
        assert_eq!(control.levels(), "info,helenus_storage=debug");
        control.set_part("helenus_storage", "trace").unwrap();
        control.set_part("", "warn").unwrap();
        assert_eq!(control.levels(), "helenus_storage=trace,warn");
        control.clear_part("helenus_storage").unwrap();
        assert_eq!(control.levels(), "warn");
        assert!(control.set("loud").is_err());
        assert_eq!(control.levels(), "warn");
    }
}
