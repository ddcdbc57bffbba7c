//! Limits of the node's front door: connections in all and per address, bytes of requests being worked on.
//!
//! Shared by all shards: counters are atomics or stand behind a lock that is taken once per connection, so that a request
//! costs two atomic additions.
//!
//! Invariants
//! - What a guard took goes back when the guard is dropped, on whichever shard.
//! - A request larger than a limit is let through when nothing else is in flight: it would otherwise wait for ever.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Connections;

/// File descriptors that connections may not take: SSTables, log segments, the admin API, other nodes.
const FD_RESERVE: u64 = 256;

/// Of all connections, those that have not authenticated yet; bounds what strangers can hold.
const UNREADY_SHARE: u64 = 4;

/// Connections that have not authenticated yet are always fewer than this.
const UNREADY_MAX: u64 = 1024;

#[derive(Debug)]
pub struct Limits {
    connections_max: u64,
    per_ip_max: u64,
    unready_max: u64,
    bytes_max: u64,
    bytes_per_ip_max: u64,
    connections: AtomicU64,
    unready: AtomicU64,
    bytes: AtomicU64,
    refused_connections: AtomicU64,
    by_ip: Mutex<BTreeMap<IpAddr, Arc<IpState>>>,
}

#[derive(Debug, Default)]
struct IpState {
    connections: AtomicU64,
    unready: AtomicU64,
    bytes: AtomicU64,
}

/// A connection's place among all; given back when dropped.
#[derive(Debug)]
pub struct ConnectionGuard {
    limits: Arc<Limits>,
    ip: IpAddr,
    state: Arc<IpState>,
    is_ready: bool,
}

/// A request's bytes in flight; given back when dropped.
#[derive(Debug)]
pub struct RequestGuard {
    limits: Arc<Limits>,
    state: Arc<IpState>,
    bytes: u64,
}

/// Why a connection is not served. `Display` is Cassandra's log line where Cassandra has the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionRefused {
    #[error(
        "Exceeded maximum native connection limit of {limit} by using {count} connections (see \
         native_transport_max_concurrent_connections in cassandra.yaml)"
    )]
    All { limit: u64, count: u64 },
    #[error(
        "Exceeded maximum native connection limit per ip of {limit} by using {count} connections (see \
         native_transport_max_concurrent_connections_per_ip)"
    )]
    PerIp { limit: u64, count: u64 },
    #[error("{count} connections have not authenticated yet, {limit} are allowed")]
    Unready { limit: u64, count: u64 },
    #[error("{count} connections from this address have not authenticated yet, {limit} are allowed")]
    UnreadyPerIp { limit: u64, count: u64 },
}

/// The bytes in flight are at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Request breached limit on bytes in flight. (Endpoint: {ip_bytes}/{ip_max} bytes, Global: {bytes}/{max} bytes.)\
     Server is currently in an overloaded state and cannot accept more requests."
)]
pub struct TooManyBytes {
    pub ip_bytes: u64,
    pub ip_max: u64,
    pub bytes: u64,
    pub max: u64,
}

impl Limits {
    /// `open_files_max` is the process's limit on file descriptors.
    #[must_use]
    pub fn new(connections: &Connections, open_files_max: u64) -> Arc<Self> {
        let by_files = open_files_max.saturating_sub(FD_RESERVE).max(16);
        let connections_max = connections.count_max.unwrap_or(u64::MAX).min(by_files);
        Arc::new(Self {
            connections_max,
            per_ip_max: connections.count_per_ip_max.unwrap_or(u64::MAX),
            unready_max: (connections_max / UNREADY_SHARE).clamp(4, UNREADY_MAX),
            bytes_max: connections.bytes_in_flight_max,
            bytes_per_ip_max: connections.bytes_in_flight_per_ip_max,
            connections: AtomicU64::new(0),
            unready: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            refused_connections: AtomicU64::new(0),
            by_ip: Mutex::default(),
        })
    }

    /// A place for a connection from `ip`.
    ///
    /// # Errors
    /// [`ConnectionRefused`]; the caller closes the socket.
    pub fn admit_connection(self: &Arc<Self>, ip: IpAddr) -> Result<ConnectionGuard, ConnectionRefused> {
        let mut by_ip = self.by_ip();
        let count = self.connections.load(Ordering::Relaxed);
        let unready = self.unready.load(Ordering::Relaxed);
        let state = by_ip.entry(ip).or_default();
        let per_ip = state.connections.load(Ordering::Relaxed);
        let unready_per_ip = state.unready.load(Ordering::Relaxed);
        let refused = if self.connections_max <= count {
            Some(ConnectionRefused::All { limit: self.connections_max, count })
        } else if self.per_ip_max <= per_ip {
            Some(ConnectionRefused::PerIp { limit: self.per_ip_max, count: per_ip })
        } else if self.unready_max <= unready {
            Some(ConnectionRefused::Unready { limit: self.unready_max, count: unready })
        } else if self.unready_max / 2 <= unready_per_ip {
            // Half of the places are left to others, however many strangers come from one address.
            Some(ConnectionRefused::UnreadyPerIp { limit: self.unready_max / 2, count: unready_per_ip })
        } else {
            None
        };
        if let Some(refused) = refused {
            if per_ip == 0 {
                by_ip.remove(&ip); // Made just now.
            }
            self.refused_connections.fetch_add(1, Ordering::Relaxed);
            return Err(refused);
        }
        // Under the lock, so that two threads do not take the same last place.
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.unready.fetch_add(1, Ordering::Relaxed);
        state.connections.fetch_add(1, Ordering::Relaxed);
        state.unready.fetch_add(1, Ordering::Relaxed);
        let state = Arc::clone(state);
        Ok(ConnectionGuard { limits: Arc::clone(self), ip, state, is_ready: false })
    }

    /// Open connections of the node.
    #[must_use]
    pub fn connection_count(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn refused_connection_count(&self) -> u64 {
        self.refused_connections.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn bytes_in_flight(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn by_ip(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Arc<IpState>>> {
        self.by_ip.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionGuard {
    /// The client has authenticated: it no longer counts among the strangers.
    pub fn set_ready(&mut self) {
        if !std::mem::replace(&mut self.is_ready, true) {
            self.limits.unready.fetch_sub(1, Ordering::Relaxed);
            self.state.unready.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Takes a request's bytes out of both budgets.
    ///
    /// # Errors
    /// [`TooManyBytes`]: wait, or answer with it.
    pub fn admit_request(&self, bytes: u64) -> Result<RequestGuard, TooManyBytes> {
        let Limits { bytes_max, bytes_per_ip_max, .. } = *self.limits;
        let all = self.limits.bytes.fetch_add(bytes, Ordering::Relaxed);
        let of_ip = self.state.bytes.fetch_add(bytes, Ordering::Relaxed);
        let guard = RequestGuard { limits: Arc::clone(&self.limits), state: Arc::clone(&self.state), bytes };
        let fits = |before: u64, max: u64| before == 0 || before.saturating_add(bytes) <= max;
        if fits(all, bytes_max) && fits(of_ip, bytes_per_ip_max) {
            return Ok(guard);
        }
        Err(TooManyBytes { ip_bytes: of_ip, ip_max: bytes_per_ip_max, bytes: all, max: bytes_max })
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut by_ip = self.limits.by_ip();
        self.limits.connections.fetch_sub(1, Ordering::Relaxed);
        if !self.is_ready {
            self.limits.unready.fetch_sub(1, Ordering::Relaxed);
            self.state.unready.fetch_sub(1, Ordering::Relaxed);
        }
        if self.state.connections.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Requests that still run keep their own reference to the state.
            by_ip.remove(&self.ip);
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.limits.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.state.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn limits(change: impl FnOnce(&mut Connections)) -> Arc<Limits> {
        let mut connections = Connections {
            keepalive: true,
            older_protocols: true,
            count_max: None,
            count_per_ip_max: None,
            idle_timeout: None,
            message_bytes_max: 1 << 24,
            bytes_in_flight_max: 100,
            bytes_in_flight_per_ip_max: 60,
            throw_on_overload: false,
        };
        change(&mut connections);
        Limits::new(&connections, 10_000)
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    #[test]
    fn connections_are_limited_in_all_and_per_address_and_give_their_place_back() {
        let limits = limits(|connections| {
            connections.count_max = Some(3);
            connections.count_per_ip_max = Some(2);
        });
        let first = limits.admit_connection(ip(1)).unwrap();
        let _second = limits.admit_connection(ip(1)).unwrap();
        let refused = limits.admit_connection(ip(1)).unwrap_err();
        assert_eq!(refused, ConnectionRefused::PerIp { limit: 2, count: 2 });
        let _third = limits.admit_connection(ip(2)).unwrap();
        assert_eq!(limits.admit_connection(ip(3)).unwrap_err(), ConnectionRefused::All { limit: 3, count: 3 });
        drop(first);
        assert!(limits.admit_connection(ip(1)).is_ok());
        assert_eq!(limits.refused_connection_count(), 2);
    }

    #[test]
    fn strangers_cannot_take_all_places() {
        let limits = limits(|connections| connections.count_max = Some(16));
        let mut guards: Vec<_> = (0..2).map(|_| limits.admit_connection(ip(1)).unwrap()).collect();
        let refused = limits.admit_connection(ip(1)).unwrap_err();
        assert_eq!(refused, ConnectionRefused::UnreadyPerIp { limit: 2, count: 2 });
        let _others: Vec<_> = (0..2).map(|_| limits.admit_connection(ip(2)).unwrap()).collect();
        let refused = limits.admit_connection(ip(3)).unwrap_err();
        assert_eq!(refused, ConnectionRefused::Unready { limit: 4, count: 4 });
        guards[0].set_ready();
        assert!(limits.admit_connection(ip(1)).is_ok());
        drop(guards);
        assert!(limits.admit_connection(ip(3)).is_ok());
    }

    #[test]
    fn bytes_in_flight_are_limited_but_a_lone_large_request_passes() {
        let limits = limits(|_| ());
        let (one, two) = (limits.admit_connection(ip(1)).unwrap(), limits.admit_connection(ip(2)).unwrap());
        let large = one.admit_request(1_000).unwrap();
        assert!(one.admit_request(1).is_err());
        drop(large);
        let _first = one.admit_request(60).unwrap();
        let refusal = one.admit_request(1).unwrap_err();
        assert_eq!(refusal, TooManyBytes { ip_bytes: 60, ip_max: 60, bytes: 60, max: 100 });
        let _other = two.admit_request(40).unwrap();
        assert!(two.admit_request(1).is_err());
        assert_eq!(limits.bytes_in_flight(), 100);
    }
}
