//! Clients: the connections of one shard as operators see them (`system_views.clients`, `nodetool clientstats`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use helenus_env::Instant;
use helenus_protocol::{EventType, ProtocolVersion, Startup};

/// How far a connection has come. Source: Cassandra 5.0, `transport.ConnectionStage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Established,
    Authenticating,
    Ready,
}

impl Stage {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Established => "established",
            Stage::Authenticating => "authenticating",
            Stage::Ready => "ready",
        }
    }
}

/// One connection.
pub struct Client {
    pub address: SocketAddr,
    pub connected: Instant,
    pub stage: Cell<Stage>,
    pub version: Cell<Option<ProtocolVersion>>,
    pub role: RefCell<Option<Arc<str>>>,
    pub keyspace: RefCell<Option<Arc<str>>>,
    pub options: RefCell<BTreeMap<String, String>>,
    pub request_count: Cell<u64>,
    pub in_flight: Cell<u32>,
    pub events: RefCell<Vec<EventType>>,
}

impl Client {
    #[must_use]
    pub fn new(address: SocketAddr, connected: Instant) -> Rc<Self> {
        Rc::new(Self {
            address,
            connected,
            stage: Cell::new(Stage::Established),
            version: Cell::new(None),
            role: RefCell::default(),
            keyspace: RefCell::default(),
            options: RefCell::default(),
            request_count: Cell::new(0),
            in_flight: Cell::new(0),
            events: RefCell::default(),
        })
    }

    pub fn started(&self, version: ProtocolVersion, startup: &Startup) {
        self.version.set(Some(version));
        *self.options.borrow_mut() = startup.options.iter().cloned().collect();
    }

    #[must_use]
    pub fn option(&self, key: &str) -> Option<String> {
        self.options.borrow().get(key).cloned()
    }
}

/// The connections of one shard, in the order in which they came.
#[derive(Default)]
pub struct Clients {
    next_id: Cell<u64>,
    by_id: RefCell<BTreeMap<u64, Entry>>,
}

struct Entry {
    client: Rc<Client>,
    output: Rc<super::output::Output>,
}

impl Clients {
    pub(super) fn add(&self, client: &Rc<Client>, output: &Rc<super::output::Output>) -> u64 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let entry = Entry { client: Rc::clone(client), output: Rc::clone(output) };
        self.by_id.borrow_mut().insert(id, entry);
        id
    }

    pub(super) fn remove(&self, id: u64) {
        self.by_id.borrow_mut().remove(&id);
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.by_id.borrow().len()
    }

    #[must_use]
    pub fn list(&self) -> Vec<Rc<Client>> {
        self.by_id.borrow().values().map(|entry| Rc::clone(&entry.client)).collect()
    }

    /// Those that registered for `event_type`, with where to write.
    pub(super) fn registered(&self, event_type: EventType) -> Vec<(Rc<Client>, Rc<super::output::Output>)> {
        let by_id = self.by_id.borrow();
        let registered = by_id.values().filter(|entry| entry.client.events.borrow().contains(&event_type));
        registered.map(|entry| (Rc::clone(&entry.client), Rc::clone(&entry.output))).collect()
    }
}
