//! Turns: who may have a password checked next. Checks cost a core some 50 ms each, so few run at once.
//!
//! Addresses take their turns one after the other, however many logins wait at each: a storm from one address holds up the
//! others by one check. A login that is dropped while it waits is passed over.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

pub(super) struct Turns {
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// Without empty queues. Somebody waits only while nothing is free.
    waiting: BTreeMap<IpAddr, VecDeque<oneshot::Sender<Turn>>>,
    /// Whose turn was last.
    last: Option<IpAddr>,
}

/// The right to check one password; passed on when dropped.
pub(super) struct Turn {
    /// `None` once it is passed on.
    turns: Option<Arc<Turns>>,
}

impl Turns {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free: count, waiting: BTreeMap::new(), last: None }) })
    }

    pub(super) async fn take(self: &Arc<Self>, address: IpAddr) -> Turn {
        let receiver = {
            let mut state = self.lock();
            if let Some(left) = state.free.checked_sub(1) {
                state.free = left;
                return Turn { turns: Some(Arc::clone(self)) };
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.entry(address).or_default().push_back(sender);
            receiver
        };
        receiver.await.expect("a queue is only let go when its logins had their turn")
    }

    fn pass_on(self: Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.next();
                state.free += usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            match next.send(Turn { turns: Some(Arc::clone(&self)) }) {
                Ok(()) => return,
                Err(mut refused) => drop(refused.turns.take()), // That login is gone; the turn is still ours.
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The first that waits at the address behind the last one's.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let behind = self.last.and_then(|last| {
            use std::ops::Bound::{Excluded, Unbounded};
            self.waiting.range((Excluded(last), Unbounded)).next().map(|(address, _)| *address)
        });
        let address = behind.or_else(|| self.waiting.keys().next().copied())?;
        let queue = self.waiting.get_mut(&address)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&address);
        }
        self.last = Some(address);
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::task::Poll;

    use helenus_env::real::block_on;

    use super::*;

    type Waiting<'w> = Pin<Box<dyn Future<Output = Turn> + 'w>>;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    async fn poll(waiting: &mut Waiting<'_>) -> Option<Turn> {
        poll_fn(|context| {
            Poll::Ready(match waiting.as_mut().poll(context) {
                Poll::Ready(turn) => Some(turn),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[test]
    fn addresses_take_turns_and_who_is_gone_is_passed_over() {
        block_on(async {
            let turns = Turns::new(1);
            let mut held = turns.take(address(9)).await;
            // Four at the first address, of which the second gives up; one at the third.
            let mut waiting: Vec<(u8, Waiting<'_>)> = Vec::new();
            for last in [1, 1, 1, 1, 3] {
                let mut one: Waiting<'_> = Box::pin(turns.take(address(last)));
                assert!(poll(&mut one).await.is_none());
                waiting.push((last, one));
            }
            drop(waiting.remove(1));
            let mut order = Vec::new();
            while !waiting.is_empty() {
                drop(held);
                let mut found = None;
                for (index, (last, one)) in waiting.iter_mut().enumerate() {
                    if let Some(turn) = poll(one).await {
                        assert!(found.is_none(), "there is one turn");
                        order.push(*last);
                        found = Some((index, turn));
                    }
                }
                let (index, turn) = found.expect("somebody has it");
                drop(waiting.remove(index));
                held = turn;
            }
            assert_eq!(order, [1, 3, 1, 1]);
            drop(held);
            assert_eq!(turns.lock().free, 1);
        });
    }

    #[test]
    fn a_turn_that_was_given_to_a_login_which_goes_is_not_lost() {
        block_on(async {
            let turns = Turns::new(1);
            let held = turns.take(address(1)).await;
            let mut waiting: Waiting<'_> = Box::pin(turns.take(address(2)));
            assert!(poll(&mut waiting).await.is_none());
            drop(held);
            drop(waiting); // It has its turn, and never looked.
            assert_eq!(turns.lock().free, 1);
        });
    }
}
