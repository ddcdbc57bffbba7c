//! Output of one connection: answers of all its requests, gathered in one buffer and written with one call a loop turn.
//!
//! Invariants
//! - An envelope is appended as a whole, between two awaits, so answers never mix.
//! - What waits here is granted by the shard's memory budget, but for the first [`FREE_BYTES`].
//! - What a client does not read is bounded: [`Output::has_room_for`] says when no more of its requests may be started, and
//!   a client that reads nothing, or too little while memory is scarce, is cut off: see [`Pace`].
//! - Whatever ends the writer, those who wait for it are woken.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use helenus_env::{Env, Instant, MemoryBudget, MemoryPermit};
use helenus_protocol::Outbound;
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// A few pages of rows: enough to keep the socket busy, little enough to hold for every slow client.
pub(super) const PAUSE_BYTES: usize = 1 << 20;

/// As [`PAUSE_BYTES`], while memory is scarce.
const PAUSE_BYTES_SCARCE: usize = 64 << 10;

/// What a connection costs anyway.
const FREE_BYTES: usize = 32 << 10;

/// Version 5 and compression make a second copy of an answer before the first one goes.
const COPIES: usize = 2;

/// How much too much is granted before it is given back: a permit is shared with other threads, so it is not touched for
/// every answer.
const SLACK_BYTES: u64 = 64 << 10;

/// How often a writer that waits looks whether it should go on.
const STALL_POLL: Duration = Duration::from_secs(1);

pub(super) struct Output {
    outbound: RefCell<Outbound>,
    /// Bytes taken out of `outbound` that the socket has not accepted yet.
    unwritten_bytes: Cell<usize>,
    state: Cell<State>,
    budget: MemoryBudget,
    /// For what waits beyond [`FREE_BYTES`].
    memory: RefCell<Option<MemoryPermit>>,
    /// Wakes the writer.
    changed: Notify,
    /// Wakes those who wait for room.
    drained: Notify,
    /// Wakes those who wait for the end.
    ended: Notify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Write what is there, then close.
    Closing,
    Closed,
}

impl Output {
    pub(super) fn new(budget: MemoryBudget) -> Rc<Self> {
        Rc::new(Self {
            outbound: RefCell::new(Outbound::new()),
            unwritten_bytes: Cell::new(0),
            state: Cell::new(State::Open),
            budget,
            memory: RefCell::new(None),
            changed: Notify::new(),
            drained: Notify::new(),
            ended: Notify::new(),
        })
    }

    /// Appends whole envelopes; nothing once the connection is gone.
    pub(super) fn append(&self, write: impl FnOnce(&mut BytesMut)) {
        self.append_answer(None, write);
    }

    /// As [`Self::append`]; what was granted for the answer stays granted until it is written. Answers how long it is.
    pub(super) fn append_answer(&self, memory: Option<MemoryPermit>, write: impl FnOnce(&mut BytesMut)) -> usize {
        if self.is_closed() {
            return 0;
        }
        let before = self.waiting_bytes();
        write(self.outbound.borrow_mut().buffer());
        let waiting = self.waiting_bytes();
        if let Err(()) = self.hold(memory, waiting) {
            tracing::warn!("a client does not read its answers, and there is no memory left to keep them for it");
            self.end();
        }
        self.changed.notify_one();
        waiting.saturating_sub(before)
    }

    /// Has what waits granted. An error when that is refused and there is enough to be worth cutting a client off for.
    fn hold(&self, memory: Option<MemoryPermit>, waiting: usize) -> Result<(), ()> {
        let needed = (COPIES * waiting.saturating_sub(FREE_BYTES)) as u64;
        let mut held = self.memory.borrow_mut();
        if needed == 0 && held.is_none() {
            return Ok(()); // A small answer; what its request was granted goes back now.
        }
        match (&mut *held, memory) {
            (Some(held), Some(memory)) => held.absorb(memory),
            (held @ None, memory) => *held = memory,
            (Some(_), None) => {}
        }
        let granted = held.as_ref().map_or(0, MemoryPermit::bytes);
        if granted < needed {
            let grown = match &mut *held {
                Some(held) => held.try_grow(needed - granted),
                None => self.budget.try_acquire(needed).map(|permit| *held = Some(permit)),
            };
            return if grown.is_err() && PAUSE_BYTES < waiting { Err(()) } else { Ok(()) };
        }
        if let Some(held) = held.as_mut().filter(|held| needed + SLACK_BYTES < held.bytes()) {
            held.shrink_to(needed);
        }
        Ok(())
    }

    /// After something was written.
    fn release(&self) {
        let waiting = self.waiting_bytes();
        let mut held = self.memory.borrow_mut();
        if waiting <= FREE_BYTES {
            *held = None;
        } else if let Some(held) = &mut *held {
            let needed = (COPIES * waiting) as u64;
            if needed + SLACK_BYTES < held.bytes() {
                held.shrink_to(needed);
            }
        }
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

    /// Closes now; what was not written never will be.
    fn end(&self) {
        self.state.set(State::Closed);
        *self.outbound.borrow_mut() = Outbound::new();
        self.unwritten_bytes.set(0);
        *self.memory.borrow_mut() = None;
        self.drained.notify_waiters();
        self.ended.notify_waiters();
        self.changed.notify_one();
    }

    /// Whether `bytes` may be added to what waits. Anything may when nothing waits.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let waiting = self.waiting_bytes();
        let total = waiting.saturating_add(bytes);
        total <= PAUSE_BYTES_SCARCE || (total <= PAUSE_BYTES && !self.budget.is_scarce())
    }

    /// Waits until the client has read enough of its answers, or is gone.
    pub(super) async fn has_room(&self) {
        while !self.has_room_for(0) && !self.is_closed() {
            self.drained.notified().await;
        }
    }

    /// Waits until something was written, or the client is gone.
    pub(super) async fn next_write(&self) {
        if !self.is_closed() {
            self.drained.notified().await;
        }
    }

    /// Waits until everything was handed to the kernel, or the client is gone.
    pub(super) async fn is_written(&self) {
        while !self.is_empty() && !self.is_closed() {
            self.drained.notified().await;
        }
    }

    /// Waits until nothing more will be written.
    pub(super) async fn ended(&self) {
        while !self.is_closed() {
            self.ended.notified().await;
        }
    }

    /// Writes until the connection is closed. Whatever ends it, a panic or the end of its task included, those who wait are
    /// woken.
    pub(super) async fn write_to(&self, env: &Env, stream: &TcpStream) {
        struct Ending<'o>(&'o Output);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        let _ending = Ending(self);
        if let Err(error) = self.write_all(env, stream).await {
            tracing::debug!(%error, "writing to a client failed");
        }
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
            let mut pace = None;
            while !bytes.is_empty() {
                self.unwritten_bytes.set(bytes.len());
                match stream.try_write(&bytes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        bytes.advance(written);
                        if let Some(pace) = &mut pace {
                            Pace::wrote(pace, env.monotonic(), written);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let pace = pace.get_or_insert_with(|| Pace::new(env.monotonic()));
                        self.release();
                        tokio::select! {
                            ready = env.timeout(STALL_POLL, stream.writable()) => ready.unwrap_or(Ok(()))?,
                            () = self.ended() => return Ok(()),
                        }
                        if pace.is_too_slow(env.monotonic(), self.budget.is_scarce()) {
                            tracing::warn!("a client does not read its answers; its connection is closed");
                            return Err(io::ErrorKind::TimedOut.into());
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
            self.unwritten_bytes.set(0);
            self.release();
            self.drained.notify_waiters();
        }
    }
}

/// How fast a client reads while more waits for it than its socket takes.
///
/// With memory to spare it has to take something within [`STALL_LIMIT`]; while memory is scarce, [`SCARCE_BYTES`] in every
/// [`SCARCE_WINDOW`], or those who read nothing would leave no memory to those who do.
struct Pace {
    last_write: Instant,
    window_start: Instant,
    window_bytes: usize,
}

const STALL_LIMIT: Duration = Duration::from_secs(30);
const SCARCE_WINDOW: Duration = Duration::from_secs(2);
/// 32 KiB a second: a bad mobile line.
const SCARCE_BYTES: usize = 64 << 10;

impl Pace {
    fn new(now: Instant) -> Self {
        Self { last_write: now, window_start: now, window_bytes: 0 }
    }

    fn wrote(&mut self, now: Instant, bytes: usize) {
        self.last_write = now;
        self.window_bytes += bytes;
    }

    fn is_too_slow(&mut self, now: Instant, is_scarce: bool) -> bool {
        let mut is_too_slow = STALL_LIMIT <= now - self.last_write;
        if SCARCE_WINDOW <= now - self.window_start {
            is_too_slow |= is_scarce && self.window_bytes < SCARCE_BYTES;
            (self.window_start, self.window_bytes) = (now, 0);
        }
        is_too_slow
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::task::Poll;

    use helenus_env::NodeMemory;
    use helenus_env::real::{RealEnv, block_on};
    use tokio::net::TcpListener;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(bytes: u64) -> MemoryBudget {
        MemoryBudget::new(NodeMemory::new(bytes), 0).unwrap()
    }

    fn put(output: &Output, bytes: usize) {
        output.append(|out| out.resize(out.len() + bytes, 0));
    }

    #[test]
    fn a_writer_that_dies_lets_those_go_who_wait_for_it() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let output = Output::new(budget(64 * MIB));
            put(&output, 16 * PAUSE_BYTES);
            let mut writing = Box::pin(output.write_to(&env, &stream));
            poll_fn(|context| {
                assert!(writing.as_mut().poll(context).is_pending(), "nobody reads");
                Poll::Ready(())
            })
            .await;
            let mut waiting = Box::pin(output.has_room());
            poll_fn(|context| {
                assert!(waiting.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(writing);
            waiting.await;
            output.ended().await;
            assert!(output.is_closed());
            assert_eq!(output.budget.used_bytes(), 0);
        });
    }

    #[test]
    fn what_waits_is_granted_and_given_back() {
        let output = Output::new(budget(64 * MIB));
        put(&output, FREE_BYTES);
        assert_eq!(output.budget.used_bytes(), 0);
        let answer = output.budget.try_acquire(10 * MIB).unwrap();
        output.append_answer(Some(answer), |out| out.resize(out.len() + (4 << 20), 0));
        assert!((8 * MIB..9 * MIB).contains(&output.budget.used_bytes()), "{}", output.budget.used_bytes());
        assert!(!output.has_room_for(0));
        output.end();
        assert_eq!(output.budget.used_bytes(), 0);
        assert_eq!(output.append_answer(None, |out| out.resize(9, 0)), 0);
    }

    #[test]
    fn a_client_whose_answers_find_no_memory_is_cut_off() {
        let output = Output::new(budget(4 * MIB));
        put(&output, PAUSE_BYTES);
        assert!(!output.is_closed());
        put(&output, 2 * PAUSE_BYTES);
        assert!(output.is_closed());
    }

    #[test]
    fn slow_readers_are_borne_until_memory_is_scarce() {
        let at = |secs: u64| Instant::ZERO + Duration::from_secs(secs);
        let mut pace = Pace::new(at(0));
        for second in 1..100 {
            pace.wrote(at(second), 1);
            assert!(!pace.is_too_slow(at(second), false));
        }
        assert!(pace.is_too_slow(at(102), true));
        let mut pace = Pace::new(at(0));
        assert!(!pace.is_too_slow(at(29), false));
        assert!(pace.is_too_slow(at(30), false));
    }
}
