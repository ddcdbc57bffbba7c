//! Listener: shard 0 accepts on both ports and hands each connection to the shard that is to serve it.
//!
//! One accepting shard and a hand-over by message instead of a listening socket per shard: with `SO_REUSEPORT` the
//! kernel spreads connections by hash, which leaves shards without any as long as there are few, and a driver keeps its
//! connections for days. The hand-over costs some 10 µs once per connection.
//!
//! ```text
//! native_transport_port               the shard with the fewest connections
//! native_shard_aware_transport_port   the client's port modulo the number of shards: the driver chose it
//! ```

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::time::Duration;

use helenus_env::{Env, Sender};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::TcpListener;

use super::limits::ConnectionGuard;
use crate::node::{Node, Phase, reached};

/// The kernel's queue of connections that were not accepted yet; it caps this at `net.core.somaxconn`.
const BACKLOG: i32 = 1024;

/// Out of file descriptors or memory: accepting again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);

/// A socket on its way to its shard, with its place among the node's connections.
pub struct Accepted {
    pub stream: StdStream,
    pub address: SocketAddr,
    pub guard: ConnectionGuard,
}

/// Which port a connection came in on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Plain,
    ShardAware,
}

/// Both ports, bound before anything else is done, so that a port that is taken is found at once; nobody can connect
/// before [`Listeners::accept`].
pub struct Listeners {
    plain: Socket,
    shard_aware: Option<Socket>,
}

impl Listeners {
    /// # Errors
    /// The address that cannot be had, and why.
    pub fn bind(plain: SocketAddr, shard_aware_port: Option<u16>) -> Result<Self, (SocketAddr, io::Error)> {
        let bind = |address: SocketAddr| bind(address).map_err(|error| (address, error));
        let shard_aware = shard_aware_port.map(|port| bind(SocketAddr::new(plain.ip(), port)));
        Ok(Self { plain: bind(plain)?, shard_aware: shard_aware.transpose()? })
    }

    /// The port of the plain listener, which the system chose if it was asked for port 0.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.plain.local_addr().ok()?.as_socket().map(|address| address.port())
    }

    /// Accepts until the node drains. Runs on shard 0.
    ///
    /// # Errors
    /// When the sockets cannot listen.
    pub async fn accept(self, env: Env, node: Arc<Node>, shards: Vec<Sender<Accepted>>) -> io::Result<()> {
        let plain = listen(self.plain)?;
        let shard_aware = self.shard_aware.map(listen).transpose()?;
        let shards = Arc::new(shards);
        let mut tasks = Vec::new();
        for (listener, port) in [(Some(plain), Port::Plain), (shard_aware, Port::ShardAware)] {
            if let Some(listener) = listener {
                let accepting = accept_on(env.clone(), listener, port, Arc::clone(&node), Arc::clone(&shards));
                tasks.push(env.spawn("accept connections", accepting));
            }
        }
        reached(&mut node.phase(), Phase::Drain).await;
        for task in tasks {
            task.stop().await; // Closes the listening socket.
        }
        Ok(())
    }
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?; // A restart must not wait for connections of the last run to time out.
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    TcpListener::from_std(StdListener::from(socket))
}

async fn accept_on(env: Env, listener: TcpListener, port: Port, node: Arc<Node>, shards: Arc<Vec<Sender<Accepted>>>) {
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                env.sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let guard = match node.limits.admit_connection(address.ip()) {
            Ok(guard) => guard,
            Err(refused) => {
                tracing::warn!(client = %address, "{refused}");
                continue;
            }
        };
        let shard_count = u32::try_from(shards.len()).unwrap_or(1).max(1);
        let shard = match port {
            Port::Plain => node.least_connected_shard(),
            Port::ShardAware => u32::from(address.port()) % shard_count,
        };
        let Ok(stream) = prepare(stream, node.config.connections.keepalive) else { continue };
        let Some(sender) = shards.get(shard as usize) else { continue };
        // Counted here, so that a burst of connections spreads before the shards have seen the first.
        node.connection_opened(shard);
        if sender.send(Accepted { stream, address, guard }).await.is_err() {
            node.connection_closed(shard);
        }
    }
}

fn prepare(stream: tokio::net::TcpStream, keepalive: bool) -> io::Result<StdStream> {
    let stream = stream.into_std()?;
    stream.set_nodelay(true)?;
    if keepalive {
        SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE))?;
    }
    Ok(stream)
}
