//! Which deadline a connection is under while it waits for its client.

use std::time::Duration;

use helenus_env::Instant;

/// A client that connects has this long until STARTUP, and as long again to authenticate.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaiting {
    Startup { since: Instant },
    Authentication { since: Instant },
    Request { since: Instant },
}

/// When to give up; `None`: never. `idle` is `native_transport_idle_timeout`.
pub(super) fn deadline(awaiting: Awaiting, idle: Option<Duration>, in_flight: u32) -> Option<Instant> {
    match awaiting {
        Awaiting::Startup { since } | Awaiting::Authentication { since } => Some(since + HANDSHAKE),
        // A connection whose requests are being worked on is not idle.
        Awaiting::Request { since } if in_flight == 0 => idle.map(|idle| since + idle),
        Awaiting::Request { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_end_and_only_quiet_connections_are_idle() {
        let since = Instant::ZERO + Duration::from_secs(100);
        let idle = Some(Duration::from_secs(60));
        assert_eq!(deadline(Awaiting::Startup { since }, None, 0), Some(since + HANDSHAKE));
        assert_eq!(deadline(Awaiting::Request { since }, None, 0), None);
        assert_eq!(deadline(Awaiting::Request { since }, idle, 0), Some(since + Duration::from_secs(60)));
        assert_eq!(deadline(Awaiting::Request { since }, idle, 1), None);
    }
}
