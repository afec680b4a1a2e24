// SPDX-License-Identifier: MIT
use crate::error::{c_string, check, text};
use crate::{sys, CountingAllocator, Result};
use std::ffi::CString;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How to record; zero and `None` are defaults.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bits `TRACER_F_…`.
    pub flags: u32,
    /// Between ticks; at most an hour.
    pub interval: Duration,
    /// The most that a crash may lose.
    pub commit: Duration,
    /// CPU time of a tick aimed at.
    pub budget: Duration,
    /// Cap of the file in bytes, at least 1 MiB.
    pub max_file_bytes: u64,
    /// Names the run; default the program's name.
    pub label: Option<String>,
    /// Another process, watched from outside.
    pub pid: u32,
    /// With `TRACER_F_STACKS`: the least `malloc()` that counts; 128 KiB.
    pub stack_min_bytes: u64,
}

/// What the tracer did and cost.
pub type Stats = sys::tracer_stats;

/// The states of one type.
#[derive(Clone, Debug)]
pub struct TypeBytes {
    pub type_id: u32,
    /// "heap"; of the program's own types the number.
    pub name: String,
    known: u32,
    columns: [u64; sys::COLUMNS.len()],
}

impl TypeBytes {
    /// A state by its name ("ws", "committed"), `None` where it is unknown.
    pub fn get(&self, column: &str) -> Option<u64> {
        let i = sys::COLUMNS.iter().position(|c| *c == column)?;
        (self.known >> i & 1 == 1).then(|| self.columns[i])
    }
}

struct Handle(*mut sys::tracer);

// Any thread may call the library; nobody calls it after stop, which waits for the watcher.
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

#[derive(Default)]
struct Ending {
    asked: Mutex<bool>,
    changed: Condvar,
}

struct Watcher {
    process: u32,
    ending: Arc<Ending>,
    thread: JoinHandle<()>,
    count: Arc<dyn Fn() + Send + Sync>,
}

impl Watcher {
    /// A forked child has the handle of the thread, but not the thread.
    fn end(self) {
        if self.process != std::process::id() {
            return;
        }
        (self.count)();
        *self.ending.asked.lock().unwrap_or_else(|e| e.into_inner()) = true;
        self.ending.changed.notify_all();
        let _ = self.thread.join();
    }
}

/// A running tracer; dropping it stops it.
pub struct Tracer {
    handle: Arc<Handle>,
    watcher: Mutex<Option<Watcher>>,
    ended: bool,
}

/// A counter of the program's own. Outliving its tracer it does nothing but fail.
#[derive(Clone)]
pub struct Counter {
    handle: Arc<Handle>,
    id: u32,
}

impl Counter {
    /// The value as of now; the next sample stores it.
    pub fn set(&self, value: i64) -> Result<()> {
        check(unsafe { sys::tracer_counter_set(self.handle.0, self.id, value) })
    }
}

#[cfg(unix)]
pub(crate) fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
pub(crate) fn path_bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

fn millis(d: Duration) -> u32 {
    d.as_millis().try_into().unwrap_or(u32::MAX)
}

impl Tracer {
    /// Records this process into the file `path` with defaults.
    pub fn start(path: impl AsRef<Path>) -> Result<Tracer> {
        Tracer::with(path, &Options::default())
    }

    pub fn with(path: impl AsRef<Path>, options: &Options) -> Result<Tracer> {
        let path = c_string(path_bytes(path.as_ref()))?;
        let label = options.label.as_deref().map(c_string).transpose()?;
        let c = sys::tracer_options {
            size: std::mem::size_of::<sys::tracer_options>() as u32,
            flags: options.flags,
            interval_ms: millis(options.interval),
            commit_ms: millis(options.commit),
            budget_ns: options.budget.as_nanos().try_into().unwrap_or(u64::MAX),
            max_file_bytes: options.max_file_bytes,
            log: None,
            log_user: ptr::null_mut(),
            label: label.as_ref().map_or(ptr::null(), |l| l.as_ptr()),
            pid: options.pid,
            reserved: 0,
            stack_min_bytes: options.stack_min_bytes,
        };
        let mut t = ptr::null_mut();
        check(unsafe { sys::tracer_start(path.as_ptr(), &c, &mut t) })?;
        Ok(Tracer { handle: Arc::new(Handle(t)), watcher: Mutex::new(None), ended: false })
    }

    /// The C handle, for native code of the same program.
    pub fn as_ptr(&self) -> *mut sys::tracer {
        self.handle.0
    }

    /// Takes a last sample and closes the file; says what `drop` cannot say.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        if let Some(watcher) = self.watcher.lock().unwrap_or_else(|e| e.into_inner()).take() {
            watcher.end();
        }
        check(unsafe { sys::tracer_stop(self.handle.0) })
    }

    /// Notes that something happened now.
    pub fn mark(&self, label: &str) -> Result<()> {
        self.count();
        let label = c_string(label)?;
        check(unsafe { sys::tracer_mark(self.handle.0, label.as_ptr()) })
    }

    /// Takes one full sample now, and waits for it.
    pub fn sample(&self) -> Result<()> {
        self.count();
        check(unsafe { sys::tracer_sample(self.handle.0) })
    }

    pub fn flush(&self) -> Result<()> {
        check(unsafe { sys::tracer_flush(self.handle.0) })
    }

    pub fn pause(&self) -> Result<()> {
        check(unsafe { sys::tracer_pause(self.handle.0) })
    }

    pub fn resume(&self) -> Result<()> {
        check(unsafe { sys::tracer_resume(self.handle.0) })
    }

    /// Adds a memory type of the program's own, or finds the one of that name.
    pub fn add_type(&self, name: &str, description: &str) -> Result<u32> {
        let (name, description) = (c_string(name)?, c_string(description)?);
        let mut id = 0;
        check(unsafe {
            sys::tracer_type_add(self.handle.0, name.as_ptr(), description.as_ptr(), &mut id)
        })?;
        Ok(id)
    }

    /// From the next tick on the memory belongs to `type_id`. The range is only compared with, never
    /// read: it may go away before it is unclaimed.
    pub fn claim(&self, memory: &[u8], type_id: u32, label: &str) -> Result<()> {
        let label: CString = c_string(label)?;
        let (at, n) = (memory.as_ptr().cast(), memory.len());
        check(unsafe { sys::tracer_claim(self.handle.0, at, n, type_id, label.as_ptr()) })
    }

    pub fn unclaim(&self, memory: &[u8]) -> Result<()> {
        let at = memory.as_ptr().cast();
        check(unsafe { sys::tracer_unclaim(self.handle.0, at, memory.len()) })
    }

    /// Adds a counter of the program's own, or finds the one of that name.
    pub fn add_counter(&self, name: &str, unit: &str, description: &str) -> Result<Counter> {
        let (name, unit, words) = (c_string(name)?, c_string(unit)?, c_string(description)?);
        let mut id = 0;
        check(unsafe {
            sys::tracer_counter_add(
                self.handle.0,
                name.as_ptr(),
                unit.as_ptr(),
                words.as_ptr(),
                &mut id,
            )
        })?;
        Ok(Counter { handle: self.handle.clone(), id })
    }

    /// Puts what a [`CountingAllocator`] has handed out beside the samples, as counters `rust_heap`
    /// and `rust_blocks`: read by a thread once an interval, and at each mark and sample.
    pub fn watch_allocator<A: Sync>(
        &self,
        allocator: &'static CountingAllocator<A>,
        interval: Duration,
    ) -> Result<()> {
        let bytes = self.add_counter("rust_heap", "bytes", "handed out by Rust's allocator")?;
        let blocks = self.add_counter("rust_blocks", "count", "blocks of Rust's allocator")?;
        let count: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            let _ = bytes.set(allocator.bytes());
            let _ = blocks.set(allocator.blocks());
        });
        count();
        let ending = Arc::new(Ending::default());
        let thread = std::thread::spawn({
            let (ending, count) = (ending.clone(), count.clone());
            move || watch(&ending, interval, &*count)
        });
        let mut place = self.watcher.lock().unwrap_or_else(|e| e.into_inner());
        *place = Some(Watcher { process: std::process::id(), ending, thread, count });
        Ok(())
    }

    fn count(&self) {
        if let Some(w) = &*self.watcher.lock().unwrap_or_else(|e| e.into_inner()) {
            (w.count)();
        }
    }

    /// The newest bytes per type.
    pub fn totals(&self) -> Result<Vec<TypeBytes>> {
        let mut rows = [sys::tracer_type_bytes::default(); sys::TRACER_TYPE_CAPACITY as usize];
        let mut all = sys::tracer_totals {
            size: std::mem::size_of::<sys::tracer_totals>() as u32,
            capacity: sys::TRACER_TYPE_CAPACITY,
            n_types: 0,
            flags: 0,
            t_ns: 0,
            wall_ns: 0,
            types: rows.as_mut_ptr(),
        };
        check(unsafe { sys::tracer_get_totals(self.handle.0, &mut all) })?;
        Ok(rows[..all.n_types as usize].iter().map(named).collect())
    }

    /// What the tracer did and cost.
    pub fn stats(&self) -> Result<Stats> {
        let size = std::mem::size_of::<Stats>() as u32;
        let mut stats = Stats { size, ..Stats::default() };
        check(unsafe { sys::tracer_get_stats(self.handle.0, &mut stats) })?;
        Ok(stats)
    }

    /// The newest problem in one sentence, empty when there was none.
    pub fn last_problem(&self) -> Result<String> {
        let mut buffer = [0u8; 512];
        let place = buffer.as_mut_ptr().cast();
        check(unsafe { sys::tracer_last_problem(self.handle.0, place, buffer.len()) })?;
        let n = buffer.iter().position(|b| *b == 0).unwrap_or(buffer.len());
        Ok(String::from_utf8_lossy(&buffer[..n]).into_owned())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn named(row: &sys::tracer_type_bytes) -> TypeBytes {
    let name = unsafe { sys::tracer_type_name(row.type_) };
    TypeBytes {
        type_id: row.type_,
        name: if name.is_null() { row.type_.to_string() } else { text(name).to_owned() },
        known: row.known,
        columns: row.columns,
    }
}

fn watch(ending: &Ending, interval: Duration, count: &(dyn Fn() + Send + Sync)) {
    let mut asked = ending.asked.lock().unwrap_or_else(|e| e.into_inner());
    while !*asked {
        let waited = ending.changed.wait_timeout(asked, interval);
        asked = waited.unwrap_or_else(|e| e.into_inner()).0;
        count();
    }
}
