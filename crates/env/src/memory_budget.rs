//! Memory by permit: a shard's budget, lent in blocks out of what the node was given.
//!
//! A request takes one permit at admission, grows it as it learns how much it needs, and gives everything back by
//! dropping it. Growth is granted or refused, never waited for: who waits for memory while holding some can wait for
//! ever. What finds no room is answered OVERLOADED.
//!
//! ```text
//! node   [ shard 0's blocks | shard 1's blocks | unassigned blocks ]
//! shard  [ used by requests | free for requests | reserve          ]   the reserve: flush, hints, metadata
//! ```
//!
//! Invariants
//! - The sum of all shards' blocks and the unassigned bytes is the node's total; so is RSS, as far as it is permitted.
//! - Requests leave the reserve alone: flush can always run, and flush is what makes room again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Unit of lending between shards. Large enough to be rare, small enough that the last one is not missed: a shard
/// keeps at most two idle ones, 8 MiB.
const BLOCK_BYTES: u64 = 4 << 20;

/// All memory that a node's shards may permit.
pub struct NodeMemory {
    unassigned_bytes: Mutex<u64>,
    total_bytes: u64,
}

impl NodeMemory {
    pub fn new(total_bytes: u64) -> Arc<Self> {
        Arc::new(Self { unassigned_bytes: Mutex::new(total_bytes), total_bytes })
    }

    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// What no shard has taken.
    pub fn unassigned_bytes(&self) -> u64 {
        *self.lock()
    }

    /// Takes the blocks that hold `wanted_bytes`, or whatever remains if that suffices. 0 when it does not.
    fn take_blocks(&self, wanted_bytes: u64) -> u64 {
        let mut unassigned_bytes = self.lock();
        if *unassigned_bytes < wanted_bytes {
            return 0;
        }
        let rounded = wanted_bytes.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
        let taken = rounded.min(*unassigned_bytes);
        *unassigned_bytes -= taken;
        taken
    }

    fn give_back(&self, bytes: u64) {
        *self.lock() += bytes;
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.unassigned_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryClass {
    /// Whatever a client or peer asked for.
    Request,
    /// Flush, hints, metadata: may use the reserve.
    Reserve,
}

/// There is no room. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("memory budget exhausted: {requested_bytes} bytes asked for, {free_bytes} free")]
pub struct Overloaded {
    pub requested_bytes: u64,
    pub free_bytes: u64,
}

/// One shard's budget. Cheap to clone; permits may be dropped on any thread.
#[derive(Clone)]
pub struct MemoryBudget {
    shared: Arc<Shared>,
}

struct Shared {
    node: Arc<NodeMemory>,
    reserve_bytes: u64,
    account: Mutex<Account>, // Uncontended but for permits that end on another shard.
}

struct Account {
    owned_bytes: u64,   // Invariant: used_bytes <= owned_bytes, and owned_bytes never falls below the floor.
    used_bytes: u64,    // By both classes.
    refused_count: u64, // How often the answer was `Overloaded`.
}

impl MemoryBudget {
    /// A budget that owns `reserve_bytes` of the node's memory from the start and borrows the rest as needed.
    ///
    /// # Errors
    /// [`Overloaded`] when the node has not that much left.
    pub fn new(node: Arc<NodeMemory>, reserve_bytes: u64) -> Result<Self, Overloaded> {
        let owned_bytes = node.take_blocks(reserve_bytes);
        if owned_bytes < reserve_bytes {
            return Err(Overloaded { requested_bytes: reserve_bytes, free_bytes: node.unassigned_bytes() });
        }
        let account = Mutex::new(Account { owned_bytes, used_bytes: 0, refused_count: 0 });
        Ok(Self { shared: Arc::new(Shared { node, reserve_bytes, account }) })
    }

    /// A permit for a request.
    ///
    /// # Errors
    /// [`Overloaded`] when neither the shard nor the node has room outside the reserve.
    pub fn try_acquire(&self, bytes: u64) -> Result<MemoryPermit, Overloaded> {
        self.try_acquire_as(MemoryClass::Request, bytes)
    }

    /// # Errors
    /// As [`MemoryBudget::try_acquire`]; for [`MemoryClass::Reserve`] when the reserve is used up, too.
    pub fn try_acquire_as(&self, class: MemoryClass, bytes: u64) -> Result<MemoryPermit, Overloaded> {
        self.shared.take(class, bytes)?;
        Ok(MemoryPermit { shared: Arc::clone(&self.shared), class, bytes })
    }

    pub fn used_bytes(&self) -> u64 {
        self.shared.lock().used_bytes
    }

    /// Used and idle bytes of this shard's blocks, its reserve among them.
    pub fn owned_bytes(&self) -> u64 {
        self.shared.lock().owned_bytes
    }

    pub fn refused_count(&self) -> u64 {
        self.shared.lock().refused_count
    }

    /// Whether less than a quarter of the node's memory is left for requests of this shard: time to hold back those
    /// that can wait.
    pub fn is_scarce(&self) -> bool {
        let idle_bytes = {
            let account = self.shared.lock();
            account.owned_bytes.saturating_sub(account.used_bytes + self.shared.reserve_bytes)
        };
        let node = &self.shared.node;
        idle_bytes.saturating_add(node.unassigned_bytes()) < node.total_bytes / 4
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, class: MemoryClass, bytes: u64) -> Result<(), Overloaded> {
        let kept_free = match class {
            MemoryClass::Request => self.reserve_bytes,
            MemoryClass::Reserve => 0,
        };
        let mut account = self.lock();
        let needed = account.used_bytes.saturating_add(bytes).saturating_add(kept_free);
        if account.owned_bytes < needed {
            account.owned_bytes += self.node.take_blocks(needed - account.owned_bytes);
        }
        if account.owned_bytes < needed {
            account.refused_count += 1;
            let idle_bytes = account.owned_bytes.saturating_sub(account.used_bytes + kept_free);
            return Err(Overloaded {
                requested_bytes: bytes,
                free_bytes: idle_bytes.saturating_add(self.node.unassigned_bytes()),
            });
        }
        account.used_bytes += bytes;
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        let mut account = self.lock();
        account.used_bytes -= bytes;
        // Keep one idle block beyond the reserve, so that a request a moment does not borrow and return each time.
        let floor = account.used_bytes.max(self.reserve_bytes).saturating_add(self.reserve_bytes);
        let idle_bytes = account.owned_bytes.saturating_sub(floor);
        if 2 * BLOCK_BYTES <= idle_bytes {
            let returned = idle_bytes - idle_bytes % BLOCK_BYTES - BLOCK_BYTES;
            account.owned_bytes -= returned;
            self.node.give_back(returned);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let owned_bytes = self.lock().owned_bytes;
        self.node.give_back(owned_bytes);
    }
}

/// Bytes that were granted, given back on drop.
#[must_use = "dropping a permit gives its memory back"]
pub struct MemoryPermit {
    shared: Arc<Shared>,
    class: MemoryClass,
    bytes: u64,
}

impl std::fmt::Debug for MemoryPermit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MemoryPermit").field("class", &self.class).field("bytes", &self.bytes).finish()
    }
}

impl MemoryPermit {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds `bytes` to the permit.
    ///
    /// # Errors
    /// [`Overloaded`]; the permit is then as it was.
    pub fn try_grow(&mut self, bytes: u64) -> Result<(), Overloaded> {
        self.shared.take(self.class, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Takes over what `other` holds, which was granted by the same budget to the same class.
    pub fn absorb(&mut self, other: MemoryPermit) {
        assert!(Arc::ptr_eq(&self.shared, &other.shared) && self.class == other.class, "permits of one budget");
        let mut other = other;
        self.bytes += std::mem::take(&mut other.bytes); // It gives nothing back when it is dropped now.
    }

    /// Gives all but `bytes` back; nothing when it holds less.
    pub fn shrink_to(&mut self, bytes: u64) {
        if bytes < self.bytes {
            self.shared.give_back(self.bytes - bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        self.shared.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(total_bytes: u64, reserve_bytes: u64) -> MemoryBudget {
        MemoryBudget::new(NodeMemory::new(total_bytes), reserve_bytes).unwrap()
    }

    #[test]
    fn requests_are_refused_before_the_reserve_is_touched() {
        let budget = budget(16 * MIB, 4 * MIB);
        let most = budget.try_acquire(12 * MIB).unwrap();
        let refusal = budget.try_acquire(1).err().unwrap();
        assert_eq!(refusal, Overloaded { requested_bytes: 1, free_bytes: 0 });
        let flush = budget.try_acquire_as(MemoryClass::Reserve, 4 * MIB).unwrap();
        assert!(budget.try_acquire_as(MemoryClass::Reserve, 1).is_err());
        assert_eq!(budget.refused_count(), 2);
        drop((most, flush));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_refused_growth_leaves_the_permit_as_it_was() {
        let budget = budget(8 * MIB, 0);
        let mut permit = budget.try_acquire(2 * MIB).unwrap();
        permit.try_grow(6 * MIB).unwrap();
        assert!(permit.try_grow(1).is_err());
        assert_eq!(permit.bytes(), 8 * MIB);
        permit.shrink_to(MIB);
        assert_eq!(budget.used_bytes(), MIB);
    }

    #[test]
    fn a_permit_that_takes_over_another_gives_both_back() {
        let budget = budget(8 * MIB, 0);
        let mut permit = budget.try_acquire(2 * MIB).unwrap();
        permit.absorb(budget.try_acquire(3 * MIB).unwrap());
        assert_eq!((permit.bytes(), budget.used_bytes()), (5 * MIB, 5 * MIB));
        drop(permit);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn memory_is_scarce_when_a_quarter_is_left() {
        let budget = budget(16 * MIB, 0);
        let half = budget.try_acquire(8 * MIB).unwrap();
        assert!(!budget.is_scarce());
        let more = budget.try_acquire(5 * MIB).unwrap();
        assert!(budget.is_scarce());
        drop((half, more));
        assert!(!budget.is_scarce());
    }

    #[test]
    fn idle_blocks_go_back_so_that_another_shard_can_use_them() {
        let node = NodeMemory::new(64 * MIB);
        let first = MemoryBudget::new(Arc::clone(&node), 4 * MIB).unwrap();
        let second = MemoryBudget::new(Arc::clone(&node), 4 * MIB).unwrap();
        let large = first.try_acquire(56 * MIB).unwrap();
        assert!(second.try_acquire(8 * MIB).is_err());
        drop(large);
        assert!(first.owned_bytes() <= 16 * MIB);
        drop(second.try_acquire(40 * MIB).unwrap());
        drop((first, second));
        assert_eq!(node.unassigned_bytes(), node.total_bytes());
    }

    #[test]
    fn nothing_is_lost_whatever_the_order_of_permits() {
        let node = NodeMemory::new(100 * MIB);
        let budgets: Vec<_> = (0..3).map(|_| MemoryBudget::new(Arc::clone(&node), 2 * MIB).unwrap()).collect();
        let mut permits = Vec::new();
        for step in 0..2_000_u64 {
            let budget = &budgets[(step % 3) as usize];
            match budget.try_acquire(step * 7_919 % (9 * MIB)) {
                Ok(permit) => permits.push(permit),
                Err(_) => drop(permits.swap_remove((step as usize * 31) % permits.len())),
            }
            let owned: u64 = budgets.iter().map(MemoryBudget::owned_bytes).sum();
            assert_eq!(owned + node.unassigned_bytes(), node.total_bytes());
            assert!(budgets.iter().all(|budget| budget.used_bytes() <= budget.owned_bytes()));
        }
    }
}
