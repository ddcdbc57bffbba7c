//! Locks of single partitions, for what reads before it writes (counters, conditional writes). First come, first served.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use helenus_data::{PartitionKey, TableId};
use tokio::sync::oneshot;

type LockedPartition = (TableId, PartitionKey);

/// A partition is in `queues` while somebody holds it; the queue holds who waits.
#[derive(Default)]
pub(crate) struct PartitionLocks {
    queues: RefCell<BTreeMap<LockedPartition, VecDeque<oneshot::Sender<PartitionGuard>>>>,
}

/// Holds a partition until dropped.
#[must_use = "dropping the guard lets the next one in"]
pub struct PartitionGuard {
    held: Option<(Rc<PartitionLocks>, LockedPartition)>,
}

impl PartitionLocks {
    /// Cancel-safe: a waiter that is dropped loses its place.
    pub async fn lock(self: &Rc<Self>, table: TableId, key: PartitionKey) -> PartitionGuard {
        let partition = (table, key);
        let waiting = {
            let mut queues = self.queues.borrow_mut();
            match queues.get_mut(&partition) {
                None => {
                    queues.insert(partition.clone(), VecDeque::new());
                    None
                }
                Some(queue) => {
                    let (sender, receiver) = oneshot::channel();
                    queue.push_back(sender);
                    Some(receiver)
                }
            }
        };
        match waiting {
            None => PartitionGuard { held: Some((Rc::clone(self), partition)) },
            Some(receiver) => receiver.await.expect("a holder hands over to everybody in its queue before it goes"),
        }
    }

    pub fn locked_count(&self) -> u64 {
        self.queues.borrow().len() as u64
    }

    /// The next one who still waits; the partition is free when there is none.
    fn pass_on(self: &Rc<Self>, partition: &LockedPartition) {
        loop {
            let next = {
                let mut queues = self.queues.borrow_mut();
                let next = queues.get_mut(partition).and_then(VecDeque::pop_front);
                if next.is_none() {
                    queues.remove(partition);
                }
                next
            };
            let Some(next) = next else { return };
            let guard = PartitionGuard { held: Some((Rc::clone(self), partition.clone())) };
            match next.send(guard) {
                Ok(()) => return, // Dropped unseen, it is a guard that is dropped, and passes the partition on.
                Err(mut refused) => refused.held = None, // The loop passes it on.
            }
        }
    }
}

impl Drop for PartitionGuard {
    fn drop(&mut self) {
        if let Some((locks, partition)) = self.held.take() {
            locks.pass_on(&partition);
        }
    }
}

#[cfg(test)]
mod tests {
    use helenus_env::real::{RealEnv, block_on};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_lock_goes_to_waiters_in_the_order_in_which_they_came() {
        let env = RealEnv::start_default().unwrap();
        block_on(async move {
            let locks = Rc::new(PartitionLocks::default());
            let (table, key) = (TableId(Uuid::from_u128(1)), PartitionKey::new(b"k"));
            let order = Rc::new(RefCell::new(Vec::new()));
            let first = locks.lock(table, key.clone()).await;
            let mut tasks = Vec::new();
            for number in 0..4 {
                let (locks, key, order, env_of_task) = (Rc::clone(&locks), key.clone(), Rc::clone(&order), env.clone());
                tasks.push(env.spawn("lock", async move {
                    let _guard = locks.lock(table, key).await;
                    order.borrow_mut().push(number);
                    env_of_task.yield_now().await;
                }));
            }
            env.yield_now().await;
            tasks.remove(1).stop().await; // A waiter that goes away must not stop the queue.
            let other = locks.lock(table, PartitionKey::new(b"other")).await;
            assert_eq!(locks.locked_count(), 2);
            drop((first, other));
            for mut task in tasks {
                task.join().await.unwrap();
            }
            assert_eq!(*order.borrow(), vec![0, 2, 3]);
            assert_eq!(locks.locked_count(), 0);
        });
    }
}
