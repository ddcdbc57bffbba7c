//! One table on one shard: its active memtable, the sealed ones that wait for their flush, and its files.
//!
//! Invariants
//! - Readers take the [`View`] once and keep it: a flush or compaction exchanges the whole view in one step, so that no
//!   row is ever seen twice or not at all.
//! - Sealed memtables stand oldest first and leave in that order; one flush of a table runs at a time.
//! - A file takes part in one compaction at most.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use helenus_data::{Row, TableId};
use helenus_schema::Table;
use tokio::sync::Semaphore;

use crate::commit_log::LogPosition;
use crate::memtable::Memtable;
use crate::metrics::TableStats;
use crate::table_files::TableFile;

/// What a reader sees.
#[derive(Clone)]
pub(crate) struct View {
    pub active: Rc<Memtable>,
    /// Oldest first.
    pub sealed: Vec<Rc<Memtable>>,
    /// Latest timestamp first.
    pub files: Vec<Rc<TableFile>>,
    /// Not read any more or not yet, but on disk, and there after a restart, so what they hold must stay deleted: shared
    /// files that this shard has rewritten and others have not, and what a refusing disk left.
    pub lingering: Vec<Rc<TableFile>>,
}

pub(crate) struct TableStore {
    pub id: TableId,
    schema: RefCell<Arc<Table>>,
    /// Whether its keyspace writes to the commit log.
    pub is_durable: Cell<bool>,
    pub directory: PathBuf,
    view: RefCell<Rc<View>>,
    /// Base names of files that a compaction works on.
    compacting: RefCell<BTreeSet<String>>,
    pub flush_gate: Semaphore,
    /// Major compactions, TRUNCATE and DROP exclude each other.
    pub maintenance_gate: Semaphore,
    pub is_dropped: Cell<bool>,
    /// A dropped table of the same id is still on its way out: this one takes no writes yet.
    pub is_waiting_for_drop: Cell<bool>,
    /// While set, nothing is compacted: TRUNCATE and major compactions have the files for themselves.
    pub compaction_holds: Cell<u32>,
    pub directory_exists: Cell<bool>,
    /// A file stands whose part of the log the durable checkpoint does not cover yet: replay would read it again.
    pub is_checkpoint_behind: Cell<bool>,
    stats: RefCell<TableStats>,
}

impl TableStore {
    pub fn new(table: Arc<Table>, is_durable: bool, directory: PathBuf, files: Vec<Rc<TableFile>>) -> Rc<Self> {
        let active = Rc::new(Memtable::new(table.cell_rule()));
        let mut view = View { active, sealed: Vec::new(), files, lingering: Vec::new() };
        view.sort_files();
        Rc::new(Self {
            id: table.id,
            schema: RefCell::new(table),
            is_durable: Cell::new(is_durable),
            directory,
            view: RefCell::new(Rc::new(view)),
            compacting: RefCell::default(),
            flush_gate: Semaphore::new(1),
            maintenance_gate: Semaphore::new(1),
            is_dropped: Cell::new(false),
            is_waiting_for_drop: Cell::new(false),
            compaction_holds: Cell::new(0),
            directory_exists: Cell::new(false),
            is_checkpoint_behind: Cell::new(false),
            stats: RefCell::default(),
        })
    }

    pub fn schema(&self) -> Arc<Table> {
        Arc::clone(&self.schema.borrow())
    }

    pub fn set_schema(&self, table: Arc<Table>) {
        assert_eq!(table.id, self.id, "a table keeps its id");
        *self.schema.borrow_mut() = table;
    }

    pub fn view(&self) -> Rc<View> {
        Rc::clone(&self.view.borrow())
    }

    /// Exchanges what readers see, in one step.
    pub fn exchange(&self, change: impl FnOnce(&mut View)) {
        let mut next = View::clone(&self.view.borrow());
        change(&mut next);
        next.sort_files();
        *self.view.borrow_mut() = Rc::new(next);
    }

    /// Seals the active memtable, which covers the table's log up to `floor`; the next write goes to a new one.
    pub fn seal(&self, floor: LogPosition) -> Rc<Memtable> {
        let sealed = Rc::clone(&self.view.borrow().active);
        sealed.seal(floor);
        let active = Rc::new(Memtable::new(sealed.rule()));
        self.exchange(|view| view.sealed.push(std::mem::replace(&mut view.active, active)));
        sealed
    }

    /// Heap bytes of the active memtable and of all.
    pub fn memtable_bytes(&self) -> (usize, usize) {
        let view = self.view.borrow();
        let active = view.active.owned_bytes();
        (active, active + view.sealed.iter().map(|memtable| memtable.owned_bytes()).sum::<usize>())
    }

    pub fn is_compacting(&self, file: &TableFile) -> bool {
        self.compacting.borrow().contains(&file.base_name())
    }

    pub fn compacting_count(&self) -> usize {
        self.compacting.borrow().len()
    }

    /// Marks files as taken by a compaction until the guard goes.
    pub fn take_for_compaction(self: &Rc<Self>, files: &[Rc<TableFile>]) -> CompactingFiles {
        let names: Vec<String> = files.iter().map(|file| file.base_name()).collect();
        let mut compacting = self.compacting.borrow_mut();
        for name in &names {
            assert!(compacting.insert(name.clone()), "a file takes part in one compaction at most");
        }
        CompactingFiles { store: Rc::clone(self), names }
    }

    /// Keeps compactions from beginning until the guard goes.
    pub fn hold_compactions(self: &Rc<Self>) -> CompactionHold {
        self.compaction_holds.set(self.compaction_holds.get() + 1);
        CompactionHold { store: Rc::clone(self) }
    }

    pub fn stats(&self) -> Ref<'_, TableStats> {
        self.stats.borrow()
    }

    pub fn stats_mut(&self) -> RefMut<'_, TableStats> {
        self.stats.borrow_mut()
    }
}

impl View {
    fn sort_files(&mut self) {
        self.files.sort_by_key(|file| std::cmp::Reverse(file.timestamp_max()));
    }

    /// Newest first.
    pub fn memtables(&self) -> Vec<Rc<Memtable>> {
        std::iter::once(&self.active).chain(self.sealed.iter().rev()).cloned().collect()
    }
}

pub(crate) struct CompactingFiles {
    store: Rc<TableStore>,
    names: Vec<String>,
}

impl Drop for CompactingFiles {
    fn drop(&mut self) {
        let mut compacting = self.store.compacting.borrow_mut();
        self.names.iter().for_each(|name| {
            compacting.remove(name);
        });
    }
}

pub(crate) struct CompactionHold {
    store: Rc<TableStore>,
}

impl Drop for CompactionHold {
    fn drop(&mut self) {
        self.store.compaction_holds.set(self.store.compaction_holds.get() - 1);
    }
}

/// Removes cells of columns that the table has no more, so that they neither keep a row alive nor reach a new file.
pub(crate) fn cut_dropped_columns(row: &mut Row, table: &Table) {
    if !table.dropped.is_empty() {
        row.columns.retain(|column| table.column_by_id(column.id).is_some());
    }
}
