//! A shard's mailbox: a bounded queue from many shards to one, emptied a batch at a time.
//!
//! Invariants
//! - Messages of one sender arrive in the order in which it sent them.
//! - At most `capacity` messages are queued and as many again taken by the receiver but not yet answered out of
//!   `recv`; `try_send` refuses beyond that, `send` waits.
//! - The receiver is woken once when the queue stops being empty, not once per message, and takes all that is queued
//!   in one exchange: waking a sleeping thread costs a system call, a lock and a push some 20 ns.
//! - Receiving consumes tokio's cooperative budget, so a mailbox that never runs dry does not starve its shard.
//!
//! Measured against tokio's own bounded mpsc (`benches/mailbox.rs`, two threads on two cores of a virtual machine,
//! 10^6 messages of 32 bytes, capacity 1024; ns per message):
//!
//! ```text
//! sent per loop turn      1     8    32   128    round trip
//! this                  820   236   240   267    12,000 to 16,000
//! tokio mpsc            848   343   321   315    12,000 to 17,000
//! ```
//!
//! The round trip is two wake-ups of a sleeping thread, whatever the queue.
//!
//! Neighbours: `reply` for the way back. Works alike between threads and between tasks of one simulated thread.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::sync::Semaphore;
use tokio::task::coop;

/// Makes mailboxes; see [`Mailbox::bounded`].
pub struct Mailbox;

impl Mailbox {
    /// A queue for `capacity` messages.
    ///
    /// # Panics
    /// When `capacity` is zero.
    pub fn bounded<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        assert!(0 < capacity, "a mailbox without room takes no message");
        let queue = Queue { messages: VecDeque::new(), sleeper: None, sender_count: 1, is_receiver_gone: false };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), room: Semaphore::new(capacity) });
        let receiver = Receiver { shared: Arc::clone(&shared), batch: VecDeque::new() };
        (Sender { shared }, receiver)
    }
}

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    room: Semaphore, // One permit per message that may still be queued; closed once the receiver is gone.
}

struct Queue<T> {
    messages: VecDeque<T>,
    sleeper: Option<Waker>, // Set while the receiver waits for the queue to stop being empty.
    sender_count: usize,
    is_receiver_gone: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        // Nothing panics while holding the lock except on exhausted memory, and then the queue is still whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller holds a permit of `room`, which the message keeps until the receiver takes it.
    fn push(&self, message: T) -> Result<(), T> {
        let sleeper = {
            let mut queue = self.lock();
            if queue.is_receiver_gone {
                return Err(message);
            }
            queue.messages.push_back(message);
            queue.sleeper.take()
        };
        // After unlocking, so that the woken shard does not run into our lock.
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
        Ok(())
    }
}

/// The message could not be sent; here it is again.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError<T> {
    #[error("the mailbox is full")]
    Full(T),
    #[error("nobody reads the mailbox any more")]
    Closed(T),
}

/// The end that sends; clones share the mailbox's room.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T: Send> Sender<T> {
    /// # Errors
    /// [`SendError::Full`] when there is no room, [`SendError::Closed`] when the receiver is gone.
    pub fn try_send(&self, message: T) -> Result<(), SendError<T>> {
        match self.shared.room.try_acquire() {
            Ok(permit) => {
                permit.forget();
                self.shared.push(message).map_err(SendError::Closed)
            }
            Err(_) if self.shared.room.is_closed() => Err(SendError::Closed(message)),
            Err(_) => Err(SendError::Full(message)),
        }
    }

    /// Waits for room, first come, first served. Dropped while waiting, it sends nothing.
    ///
    /// # Errors
    /// [`SendError::Closed`] when the receiver is gone.
    pub async fn send(&self, message: T) -> Result<(), SendError<T>> {
        let Ok(permit) = self.shared.room.acquire().await else {
            return Err(SendError::Closed(message));
        };
        permit.forget();
        self.shared.push(message).map_err(SendError::Closed)
    }

    /// How many messages wait for the receiver.
    pub fn queued_count(&self) -> usize {
        self.shared.lock().messages.len()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.lock().sender_count += 1;
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let sleeper = {
            let mut queue = self.shared.lock();
            queue.sender_count -= 1;
            if queue.sender_count == 0 { queue.sleeper.take() } else { None }
        };
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
}

/// The end that receives.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    batch: VecDeque<T>, // Taken from the queue in one exchange, handed out one by one.
}

impl<T: Send> Receiver<T> {
    /// The next message; `None` once all senders are gone and everything was received. Cancel-safe.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// The next message if one is there.
    pub fn try_recv(&mut self) -> Option<T> {
        if self.batch.is_empty() {
            self.take_batch(None);
        }
        self.batch.pop_front()
    }

    fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let budget = ready!(coop::poll_proceed(context));
        let is_closed = self.batch.is_empty() && self.take_batch(Some(context));
        match self.batch.pop_front() {
            None if !is_closed => Poll::Pending,
            answer => {
                budget.made_progress();
                Poll::Ready(answer)
            }
        }
    }

    /// Exchanges the queue for the empty batch and gives its room back in one step. Leaves the waker when there was
    /// nothing. Answers whether all senders are gone.
    fn take_batch(&mut self, context: Option<&mut Context<'_>>) -> bool {
        let is_closed = {
            let mut queue = self.shared.lock();
            std::mem::swap(&mut queue.messages, &mut self.batch);
            queue.sleeper = if self.batch.is_empty() { context.map(|context| context.waker().clone()) } else { None };
            queue.sender_count == 0
        };
        if !self.batch.is_empty() {
            self.shared.room.add_permits(self.batch.len());
        }
        is_closed
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.room.close();
        let dropped = {
            let mut queue = self.shared.lock();
            queue.is_receiver_gone = true;
            std::mem::take(&mut queue.messages)
        };
        drop(dropped); // Outside the lock: a message's own drop may send.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::{RealEnv, block_on};

    #[test]
    fn messages_arrive_in_order_and_the_end_is_seen() {
        block_on(async {
            let (sender, mut receiver) = Mailbox::bounded(4);
            sender.try_send(1).unwrap();
            sender.try_send(2).unwrap();
            drop(sender);
            assert_eq!(receiver.recv().await, Some(1));
            assert_eq!(receiver.try_recv(), Some(2));
            assert_eq!(receiver.recv().await, None);
        });
    }

    #[test]
    fn a_full_mailbox_refuses_and_a_waiting_sender_gets_its_turn() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let (sender, mut receiver) = Mailbox::bounded(1);
            sender.try_send(1).unwrap();
            assert_eq!(sender.try_send(2), Err(SendError::Full(2)));
            let waiting = sender.clone();
            let mut task = env.spawn("send", async move { waiting.send(3).await });
            env.yield_now().await;
            assert!(!task.is_finished());
            assert_eq!(receiver.recv().await, Some(1));
            task.join().await.unwrap().unwrap();
            assert_eq!(receiver.recv().await, Some(3));
        });
    }

    #[test]
    fn a_mailbox_that_never_runs_dry_lets_other_tasks_run() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let (sender, mut receiver) = Mailbox::bounded(10_000);
            (0..10_000).for_each(|number| sender.try_send(number).unwrap());
            let mut reader = env.spawn("read", async move { while receiver.recv().await != Some(9_999) {} });
            let mut other = env.spawn("other", async {});
            other.join().await.unwrap();
            assert!(!reader.is_finished());
            reader.join().await.unwrap();
        });
    }

    #[test]
    fn a_mailbox_without_receiver_gives_messages_back_and_drops_queued_ones() {
        block_on(async {
            let (sender, receiver) = Mailbox::bounded(2);
            let message = Arc::new(());
            sender.try_send(Arc::clone(&message)).unwrap();
            drop(receiver);
            assert_eq!(Arc::strong_count(&message), 1);
            assert!(matches!(sender.try_send(Arc::clone(&message)), Err(SendError::Closed(_))));
            assert!(matches!(sender.send(message).await, Err(SendError::Closed(_))));
        });
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        const PER_SENDER: u64 = 20_000;
        let (sender, mut receiver) = Mailbox::bounded(64);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let sender = sender.clone();
                scope.spawn(move || {
                    block_on(async move {
                        for number in 0..PER_SENDER {
                            sender.send((thread, number)).await.unwrap();
                        }
                    });
                });
            }
            drop(sender);
            block_on(async move {
                let mut next = [0; 2];
                while let Some((thread, number)) = receiver.recv().await {
                    assert_eq!(number, next[thread]);
                    next[thread] += 1;
                }
                assert_eq!(next, [PER_SENDER; 2]);
            });
        });
    }
}
