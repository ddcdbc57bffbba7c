//! Connection: one client's socket: reads requests, keeps the handshake's order, starts requests, closes.
//!
//! ```text
//! accepted ── OPTIONS* ── STARTUP ──┬── READY ───────────────────────────────┬── QUERY, EXECUTE, …
//!                                   └── AUTHENTICATE ── AUTH_RESPONSE ── AUTH_SUCCESS ──┘
//! ```
//!
//! Invariants
//! - Requests run side by side and are answered in the order in which they finish; the stream id ties them together.
//! - Every request that was started is answered, by ERROR when its task dies.
//! - What a client can make us hold is bounded: unread answers ([`Output`]), bytes in flight ([`super::limits`]), time
//!   without STARTUP ([`super::deadline`]).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use helenus_env::{Instant, LocalBoxFuture, MemoryBudget, MemoryPermit};
use helenus_protocol::{
    Envelope, EnvelopeHeader, ErrorBody, ErrorMessage, HEADER_BYTES, Inbound, ProtocolError, ProtocolVersion, Request,
    RequestMessage, Response, ResponseExtras, ResponseMessage, Startup,
};
use helenus_query::Session;
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::clients::{Client, Stage};
use super::deadline::{Awaiting, deadline};
use super::limits::{ConnectionGuard, RequestGuard};
use super::listener::Accepted;
use super::output::{Output, PAUSE_BYTES};
use super::{request, supported};
use crate::auth::AuthOutcome;
use crate::config::AuthMethod;
use crate::metrics::ShardMetrics;
use crate::node::{Phase, reached};
use crate::shard::ShardServer;

/// Room made for each read: a few requests; larger ones make the buffer grow to their own length.
const READ_BYTES: usize = 16 << 10;

/// Requests of one connection that are started before others of the shard get a turn.
const REQUESTS_PER_TURN: u32 = 32;

/// Capacity that another shard gives back wakes nobody here, so it is looked for at this interval.
const CAPACITY_POLL: Duration = Duration::from_millis(5);

/// No answer is expected to be shorter: bounds how many requests run side by side, 4,096 of them.
const EXPECTED_BYTES_MIN: usize = 256;

/// How often a socket with something to read, which is not read now, is asked whether its other end is gone.
const HANG_UP_POLL: Duration = Duration::from_millis(200);

/// How long a client that has sent part of a large request waits for memory to send the rest.
const RECEIVE_LIMIT: Duration = Duration::from_secs(5);

/// Answers of requests that run when the node stops must reach the client within this time.
const DRAIN_LIMIT: Duration = Duration::from_secs(3);

/// How a connection's reading ended.
enum End {
    /// The client closed, or never came to the point.
    Gone,
    /// The connection cannot go on; what was answered is still sent.
    Refused,
    /// The node drains.
    Drain,
}

pub(crate) struct Connection {
    pub(super) server: Rc<ShardServer>,
    pub(super) client: Rc<Client>,
    pub(super) output: Rc<Output>,
    pub(super) session: RefCell<Session>,
    stream: Rc<TcpStream>,
    guard: RefCell<ConnectionGuard>,
    throws_on_overload: Cell<bool>,
    /// Wakes whoever waits for a request to finish.
    finished: Notify,
    /// How long the next answers may be, judging by the last ones: see [`Connection::room_for_answer`].
    expected_bytes: Cell<usize>,
}

/// Serves one connection to its end.
pub(crate) async fn serve(server: Rc<ShardServer>, accepted: Accepted) {
    let Accepted { stream, address, guard } = accepted;
    let env = server.env.clone();
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => Rc::new(stream),
        Err(error) => {
            tracing::warn!(client = %address, %error, "a connection could not be served");
            return;
        }
    };
    let client = Client::new(address, env.monotonic());
    let output = Output::new(server.memory.clone());
    let id = server.clients.add(&client, &output);
    let throws_on_overload = Cell::new(server.node.config.connections.throw_on_overload);
    let connection = Rc::new(Connection {
        server: Rc::clone(&server),
        client,
        output: Rc::clone(&output),
        session: RefCell::new(Session::default()),
        stream: Rc::clone(&stream),
        guard: RefCell::new(guard),
        throws_on_overload,
        finished: Notify::new(),
        expected_bytes: Cell::new(PAUSE_BYTES),
    });
    let (writer_env, writer_stream, writer_output) = (env.clone(), Rc::clone(&stream), Rc::clone(&output));
    let mut writer = env.spawn("write to a client", async move {
        writer_output.write_to(&writer_env, &writer_stream).await;
        // Ends a reader that still waits for the client. An error means that the socket is closed already.
        let _ = SockRef::from(&*writer_stream).shutdown(std::net::Shutdown::Both);
    });
    let end = connection.read_requests(&stream).await.unwrap_or_else(|error| {
        tracing::debug!(client = %address, %error, "reading from a client failed");
        End::Gone
    });
    match end {
        End::Gone => {}
        End::Refused => output.is_written().await,
        End::Drain => {
            // Waiting longer would hold up the stop; the client sees a closed connection, an unknown outcome.
            let _ = env.timeout(DRAIN_LIMIT, connection.drain()).await;
        }
    }
    output.close();
    let _ = env.timeout(DRAIN_LIMIT, writer.join()).await;
    server.clients.remove(id);
    server.node.connection_closed(server.shard);
}

impl Connection {
    async fn drain(&self) {
        while 0 < self.client.in_flight.get() {
            self.finished.notified().await;
        }
        self.output.is_written().await;
    }

    async fn read_requests(self: &Rc<Self>, stream: &TcpStream) -> io::Result<End> {
        let number = u32::from(self.client.address.port()) << 16 | self.server.shard & 0xFFFF;
        let mut inbound = Inbound::for_requests(number);
        let mut input = BytesMut::new();
        let mut phase = self.server.node.phase();
        let mut since = self.server.env.monotonic();
        let mut received = Received::default();
        loop {
            if let Some(end) = self.take_requests(&mut inbound, &mut input).await {
                return Ok(end);
            }
            self.output.has_room().await;
            if self.output.is_closed() {
                return Ok(End::Gone);
            }
            if !received.hold(&self.server.memory, input.len() + inbound.kept_bytes()) {
                if RECEIVE_LIMIT <= self.server.env.monotonic() - since {
                    tracing::warn!(client = %self.client.address, "there is no memory left to receive a large request");
                    return Ok(End::Gone);
                }
                ShardMetrics::count(&self.server.metrics.reads_paused);
                tokio::select! {
                    () = self.server.env.sleep(CAPACITY_POLL) => continue,
                    () = reached(&mut phase, Phase::Drain) => return Ok(End::Drain),
                }
            }
            received.let_go(&mut input, inbound.kept_bytes());
            input.reserve(READ_BYTES);
            match stream.try_read_buf(&mut input) {
                Ok(0) => return Ok(End::Gone),
                Ok(_) => {
                    since = self.server.env.monotonic();
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                readable = stream.readable() => readable?,
                () = reached(&mut phase, Phase::Drain) => return Ok(End::Drain),
                () = self.output.ended() => return Ok(End::Gone),
                () = self.patience_ends(since) => {
                    tracing::debug!(client = %self.client.address, "a silent connection is closed");
                    return Ok(End::Gone);
                }
            }
        }
    }

    /// Waits until the connection's deadline has passed, which may be never.
    async fn patience_ends(&self, since: Instant) {
        loop {
            let awaiting = match self.client.stage.get() {
                Stage::Established => Awaiting::Startup { since: self.client.connected },
                Stage::Authenticating => Awaiting::Authentication { since },
                Stage::Ready => Awaiting::Request { since },
            };
            let idle = self.server.node.config.connections.idle_timeout;
            match deadline(awaiting, idle, self.client.in_flight.get()) {
                Some(until) if until <= self.server.env.monotonic() => return,
                Some(until) => self.server.env.sleep_until(until).await,
                None if idle.is_some() => self.finished.notified().await,
                None => std::future::pending().await,
            }
        }
    }

    /// Waits until the client has hung up, whether or not all that it sent before was read.
    async fn hung_up(&self) {
        loop {
            match self.stream.ready(Interest::READABLE).await {
                Ok(ready) if !ready.is_read_closed() => self.server.env.sleep(HANG_UP_POLL).await,
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Starts everything that has come whole; `Some` when reading ends.
    async fn take_requests(self: &Rc<Self>, inbound: &mut Inbound, input: &mut BytesMut) -> Option<End> {
        let mut started = 0;
        loop {
            match inbound.next(input) {
                Ok(None) => return None,
                Ok(Some(envelope)) => {
                    if let Some(end) = self.on_envelope(inbound, envelope).await {
                        return Some(end);
                    }
                }
                Err(rejection) => {
                    self.server.metrics.count_error(rejection.error.code());
                    let is_fatal = rejection.is_fatal();
                    self.output.append(|out| rejection.encode(out));
                    if is_fatal {
                        return Some(End::Refused);
                    }
                }
            }
            started += 1;
            if started % REQUESTS_PER_TURN == 0 {
                self.output.has_room().await;
                self.server.env.yield_now().await;
            }
            if self.output.is_closed() {
                return Some(End::Gone);
            }
        }
    }

    async fn on_envelope(self: &Rc<Self>, inbound: &mut Inbound, envelope: Envelope) -> Option<End> {
        let header = envelope.header;
        if !self.server.node.config.connections.older_protocols && header.version < ProtocolVersion::CURRENT {
            let current = ProtocolVersion::CURRENT;
            let text = format!("Rejecting Protocol Version {} < {current}.", header.version);
            self.answer_error(header, ErrorBody::Protocol, text);
            return Some(End::Refused);
        }
        let bytes = (envelope.body.len() + HEADER_BYTES) as u64;
        let message = match RequestMessage::decode(&envelope) {
            Ok(message) => message,
            Err(rejection) => {
                self.server.metrics.count_error(rejection.error.code());
                self.output.append(|out| rejection.encode(out));
                return None;
            }
        };
        self.client.request_count.set(self.client.request_count.get() + 1);
        match (self.client.stage.get(), message.request) {
            (_, Request::Options) => {
                let server = &self.server;
                let port = server.node.config.shard_aware_port;
                let supported = supported::supported(server.shard, server.shard_count, port);
                self.answer(header, Response::Supported(supported));
                None
            }
            (Stage::Established, Request::Startup(startup)) => self.on_startup(inbound, header, &startup),
            (Stage::Established, _) => {
                self.answer_protocol_error(header, &ProtocolError::BeforeStartup { found: header.opcode })
            }
            (Stage::Authenticating, Request::AuthResponse(token)) => {
                self.on_auth_response(inbound, header, token.as_deref().unwrap_or_default()).await
            }
            (Stage::Authenticating, _) => {
                self.answer_protocol_error(header, &ProtocolError::BeforeAuthentication { found: header.opcode })
            }
            (Stage::Ready, Request::Startup(_)) => {
                self.answer_protocol_error(header, &ProtocolError::AlreadyInitialized)
            }
            // Who is in already may knock again, as with Cassandra.
            (Stage::Ready, Request::AuthResponse(_)) => {
                self.answer(header, Response::AuthSuccess(None));
                None
            }
            (Stage::Ready, Request::Register(types)) => {
                self.client.events.borrow_mut().extend(types);
                self.answer(header, Response::Ready);
                None
            }
            (Stage::Ready, request) => {
                let message = RequestMessage { request, tracing: message.tracing, payload: message.payload };
                self.start_request(header, message, bytes).await
            }
        }
    }

    fn on_startup(&self, inbound: &mut Inbound, header: EnvelopeHeader, startup: &Startup) -> Option<End> {
        let compression = match startup.validate(header.version) {
            Ok(compression) => compression,
            Err(error) => return self.answer_protocol_error(header, &error),
        };
        if startup.throws_on_overload() {
            self.throws_on_overload.set(true);
        }
        self.client.started(header.version, startup);
        self.session.borrow_mut().protocol_version = header.version.number();
        let response = match self.server.node.config.authentication.method {
            AuthMethod::AllowAll => {
                self.become_ready(inbound);
                Response::Ready
            }
            AuthMethod::Password => {
                self.client.stage.set(Stage::Authenticating);
                Response::Authenticate("org.apache.cassandra.auth.PasswordAuthenticator".to_owned())
            }
        };
        inbound.start(header.version, compression);
        self.output.with_outbound(|outbound| {
            outbound.seal();
            // READY and AUTHENTICATE are a few bytes; only 2 GiB cannot be encoded.
            let _ = ResponseMessage::plain(response).encode(header.version, header.stream, outbound.buffer());
            outbound.start(header.version, compression);
        });
        None
    }

    fn become_ready(&self, inbound: &mut Inbound) {
        self.client.stage.set(Stage::Ready);
        self.guard.borrow_mut().set_ready();
        inbound.set_bytes_max(self.server.node.config.connections.message_bytes_max);
    }

    async fn on_auth_response(&self, inbound: &mut Inbound, header: EnvelopeHeader, token: &[u8]) -> Option<End> {
        let address = self.client.address.ip();
        let outcome = tokio::select! {
            outcome = self.server.node.auth.authenticate(&self.server.env, token, address) => outcome,
            () = self.hung_up() => return Some(End::Gone), // A check would be work for nobody.
        };
        match outcome {
            AuthOutcome::Accepted { role } => {
                ShardMetrics::count(&self.server.metrics.authentication_successes);
                self.become_ready(inbound);
                *self.client.role.borrow_mut() = Some(role.clone());
                self.session.borrow_mut().role = Some(role);
                self.answer(header, Response::AuthSuccess(None));
                None
            }
            AuthOutcome::Refused { text } => {
                ShardMetrics::count(&self.server.metrics.authentication_failures);
                self.answer_error(header, ErrorBody::BadCredentials, text);
                None // The client may try again on the same connection, as with Cassandra.
            }
        }
    }

    /// Waits until the answer of one more request may be added to those that wait or are being made; `Some` when none may.
    ///
    /// How long an answer gets is known too late, so it is expected to be like the last ones. A new connection's first
    /// requests run one after the other until that is known; the next are answered side by side.
    async fn room_for_answer(&self) -> Option<End> {
        let mut phase = self.server.node.phase();
        loop {
            let in_flight = self.client.in_flight.get() as usize;
            let expected = self.expected_bytes.get().saturating_mul(in_flight + 1);
            if self.output.is_closed() {
                return Some(End::Gone);
            }
            if (in_flight == 0 && self.output.is_empty()) || self.output.has_room_for(expected) {
                return None;
            }
            ShardMetrics::count(&self.server.metrics.reads_paused);
            tokio::select! {
                () = self.finished.notified() => {}
                () = self.output.next_write() => {}
                () = reached(&mut phase, Phase::Drain) => return Some(End::Drain),
            }
        }
    }

    /// Appends the answer of a request with what was granted for it.
    pub(super) fn answer_request(&self, memory: Option<MemoryPermit>, write: impl FnOnce(&mut BytesMut)) {
        let bytes = self.output.append_answer(memory, write);
        self.expect_like(bytes);
    }

    /// The next answers may be as long as this one, and less and less as long as those before it.
    pub(super) fn expect_like(&self, bytes: usize) {
        let before = self.expected_bytes.get();
        self.expected_bytes.set(bytes.max(before - before / 4).max(EXPECTED_BYTES_MIN));
    }

    /// Waits for capacity, or answers OVERLOADED, and starts the request.
    async fn start_request(
        self: &Rc<Self>,
        header: EnvelopeHeader,
        message: RequestMessage,
        bytes: u64,
    ) -> Option<End> {
        if let Some(end) = self.room_for_answer().await {
            return Some(end);
        }
        let guard = loop {
            // Not across the wait: `set_ready` borrows mutably.
            let admitted = self.guard.borrow().admit_request(bytes);
            match admitted {
                Ok(guard) => break guard,
                Err(refused) if self.throws_on_overload.get() => {
                    ShardMetrics::count(&self.server.metrics.overloaded);
                    self.answer_error(header, ErrorBody::Overloaded, refused.to_string());
                    return None;
                }
                Err(_) => {
                    ShardMetrics::count(&self.server.metrics.reads_paused);
                    let mut phase = self.server.node.phase();
                    tokio::select! {
                        () = self.finished.notified() => {}
                        () = self.server.env.sleep(CAPACITY_POLL) => {}
                        () = reached(&mut phase, Phase::Drain) => return Some(End::Drain),
                    }
                }
            }
        };
        let flight = Flight::begin(self, header, guard);
        let mut serving: LocalBoxFuture<()> = Box::pin(request::serve(Rc::clone(self), header, message, flight));
        // Most requests of the own shard find everything in memory and never wait: those are done here, without a task.
        let is_done = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| serving.as_mut().poll(context).is_ready()));
            Poll::Ready(polled.unwrap_or_else(|_| {
                tracing::error!(client = %self.client.address, "a request panicked; this is a defect");
                true // Its flight was dropped, which answered it.
            }))
        });
        if !is_done.await {
            self.server.env.spawn("serve a request", serving).detach();
        }
        None
    }

    pub(super) fn answer(&self, header: EnvelopeHeader, response: Response) {
        self.output.append(|out| {
            // Only a body of 2 GiB cannot be encoded; these are small.
            let _ = ResponseMessage::plain(response).encode(header.version, header.stream, out);
        });
    }

    pub(super) fn answer_error(&self, header: EnvelopeHeader, body: ErrorBody, message: String) {
        self.answer_failure(header, ErrorMessage { text: message, body }, ResponseExtras::default());
    }

    /// An error of a request that had a trace or warnings before it failed.
    pub(super) fn answer_failure(&self, header: EnvelopeHeader, error: ErrorMessage, extras: ResponseExtras) {
        self.server.metrics.count_error(error.body.code());
        let response = Response::Error(error);
        self.output.append(|out| {
            // Only a body of 2 GiB cannot be encoded; error texts are small.
            let _ = ResponseMessage { response, extras }.encode(header.version, header.stream, out);
        });
    }

    fn answer_protocol_error(&self, header: EnvelopeHeader, error: &ProtocolError) -> Option<End> {
        let body = match error.code() {
            helenus_protocol::ErrorCode::Invalid => ErrorBody::Invalid,
            helenus_protocol::ErrorCode::Server => ErrorBody::Server,
            _ => ErrorBody::Protocol,
        };
        self.answer_error(header, body, error.to_string());
        error.is_fatal().then_some(End::Refused)
    }
}

/// Memory for what was received of a request that is not whole, as far as it is more than a few reads.
#[derive(Default)]
struct Received {
    memory: Option<MemoryPermit>,
}

impl Received {
    const FREE_BYTES: usize = 4 * READ_BYTES;

    /// Has `bytes` and the next read granted; whether that was possible.
    fn hold(&mut self, budget: &MemoryBudget, bytes: usize) -> bool {
        if bytes < Self::FREE_BYTES {
            return true;
        }
        // A buffer that grows is there twice for a moment.
        let needed = 2 * (bytes + READ_BYTES) as u64;
        match &mut self.memory {
            Some(held) if needed <= held.bytes() => true,
            // In large steps: a request of 16 MiB comes in a thousand reads.
            Some(held) => held.try_grow((needed - held.bytes()).max(needed / 2)).is_ok(),
            None => match budget.try_acquire(needed) {
                Ok(held) => {
                    self.memory = Some(held);
                    true
                }
                Err(_) => false,
            },
        }
    }

    /// Gives back what a large request needed, once it is taken: its memory and its buffer.
    fn let_go(&mut self, input: &mut BytesMut, kept_bytes: usize) {
        if input.len() + kept_bytes < Self::FREE_BYTES && self.memory.take().is_some() {
            *input = BytesMut::from(&input[..]);
        }
    }
}

/// A request that runs: counted while it does, and answered whatever becomes of its task.
pub(super) struct Flight {
    connection: Rc<Connection>,
    header: EnvelopeHeader,
    is_answered: bool,
    _bytes: RequestGuard,
}

impl Flight {
    fn begin(connection: &Rc<Connection>, header: EnvelopeHeader, bytes: RequestGuard) -> Self {
        let in_flight = &connection.client.in_flight;
        in_flight.set(in_flight.get() + 1);
        Self { connection: Rc::clone(connection), header, is_answered: false, _bytes: bytes }
    }

    pub(super) fn answered(&mut self) {
        self.is_answered = true;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.is_answered {
            let text = "the request failed inside the server; its log says why";
            self.connection.answer_error(self.header, ErrorBody::Server, text.to_owned());
        }
        let in_flight = &self.connection.client.in_flight;
        in_flight.set(in_flight.get() - 1);
        self.connection.finished.notify_one();
    }
}
