//! Output of one connection: answers of all its requests, gathered in one buffer and written with one call a loop turn.
//!
//! Invariants
//! - An envelope is appended as a whole, between two awaits, so answers never mix.
//! - What a client does not read is bounded: beyond [`PAUSE_BYTES`] no more of its requests are read, beyond
//!   [`CLOSE_BYTES`], or when nothing could be written for [`STALL_LIMIT`], the connection is closed.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use helenus_env::Env;
use helenus_protocol::Outbound;
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// A few pages of rows: enough to keep the socket busy, little enough to hold for every slow client.
const PAUSE_BYTES: usize = 1 << 20;

/// Requests in flight may each add a result of up to 16 MiB or so after reading was paused.
const CLOSE_BYTES: usize = 256 << 20;

const STALL_LIMIT: Duration = Duration::from_secs(30);

pub(super) struct Output {
    outbound: RefCell<Outbound>,
    /// Bytes taken out of `outbound` that the socket has not accepted yet.
    unwritten_bytes: Cell<usize>,
    state: Cell<State>,
    /// Wakes the writer.
    changed: Notify,
    /// Wakes the reader, which waits for room.
    drained: Notify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Write what is there, then close.
    Closing,
    Closed,
}

impl Output {
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            outbound: RefCell::new(Outbound::new()),
            unwritten_bytes: Cell::new(0),
            state: Cell::new(State::Open),
            changed: Notify::new(),
            drained: Notify::new(),
        })
    }

    /// Appends whole envelopes; nothing once the connection is gone.
    pub(super) fn append(&self, write: impl FnOnce(&mut BytesMut)) {
        if self.state.get() == State::Closed {
            return;
        }
        write(self.outbound.borrow_mut().buffer());
        if CLOSE_BYTES < self.waiting_bytes() {
            tracing::warn!("a client does not read its answers; its connection is closed");
            self.state.set(State::Closed);
        }
        self.changed.notify_one();
    }

    /// The half of STARTUP's answer that concerns what we send: see [`Outbound::start`].
    pub(super) fn with_outbound(&self, change: impl FnOnce(&mut Outbound)) {
        change(&mut self.outbound.borrow_mut());
        self.changed.notify_one();
    }

    fn waiting_bytes(&self) -> usize {
        self.outbound.borrow().waiting_bytes() + self.unwritten_bytes.get()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting_bytes() == 0
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.get() == State::Closed
    }

    /// Closes once everything is written.
    pub(super) fn close(&self) {
        if self.state.get() == State::Open {
            self.state.set(State::Closing);
        }
        self.changed.notify_one();
    }

    /// Waits until the client has read enough of its answers, or is gone.
    pub(super) async fn has_room(&self) {
        while PAUSE_BYTES < self.waiting_bytes() && !self.is_closed() {
            self.drained.notified().await;
        }
    }

    /// Waits until everything was handed to the kernel, or the client is gone.
    pub(super) async fn is_written(&self) {
        while !self.is_empty() && !self.is_closed() {
            self.drained.notified().await;
        }
    }

    /// Writes until the connection is closed. Whatever ends it, the reader is woken.
    pub(super) async fn write_to(&self, env: &Env, stream: &TcpStream) {
        if let Err(error) = self.write_all(env, stream).await {
            tracing::debug!(%error, "writing to a client failed");
        }
        self.state.set(State::Closed);
        self.unwritten_bytes.set(0);
        // One for each of the two that may wait.
        self.drained.notify_waiters();
        self.drained.notify_one();
    }

    async fn write_all(&self, env: &Env, stream: &TcpStream) -> io::Result<()> {
        loop {
            let mut bytes = {
                let mut outbound = self.outbound.borrow_mut();
                outbound.seal();
                outbound.take()
            };
            if bytes.is_empty() {
                match self.state.get() {
                    State::Open => self.changed.notified().await,
                    State::Closing | State::Closed => return Ok(()),
                }
                continue;
            }
            while !bytes.is_empty() {
                self.unwritten_bytes.set(bytes.len());
                match stream.try_write(&bytes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => bytes.advance(written),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        if self.state.get() == State::Closed {
                            return Ok(());
                        }
                        let ready = env.timeout(STALL_LIMIT, stream.writable()).await;
                        ready.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                    }
                    Err(error) => return Err(error),
                }
            }
            self.unwritten_bytes.set(0);
            self.drained.notify_waiters();
        }
    }
}
