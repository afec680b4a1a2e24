// SPDX-License-Identifier: MIT
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// An allocator that counts what Rust code holds, so that a recording can tell it from what native
/// code holds: give it to [`crate::Tracer::watch_allocator`].
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: memtracer::CountingAllocator = memtracer::CountingAllocator::system();
/// ```
pub struct CountingAllocator<A = System> {
    inner: A,
    bytes: AtomicI64,
    blocks: AtomicI64,
}

impl CountingAllocator {
    pub const fn system() -> Self {
        Self::new(System)
    }
}

impl<A> CountingAllocator<A> {
    pub const fn new(inner: A) -> Self {
        CountingAllocator { inner, bytes: AtomicI64::new(0), blocks: AtomicI64::new(0) }
    }

    /// Bytes handed out and not yet given back.
    pub fn bytes(&self) -> i64 {
        self.bytes.load(Relaxed)
    }

    /// Blocks handed out and not yet given back.
    pub fn blocks(&self) -> i64 {
        self.blocks.load(Relaxed)
    }

    fn count(&self, block: *mut u8, bytes: usize) -> *mut u8 {
        if !block.is_null() {
            self.bytes.fetch_add(bytes as i64, Relaxed);
            self.blocks.fetch_add(1, Relaxed);
        }
        block
    }
}

// Only passes on to the allocator inside; the counters are no part of any block.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(self.inner.alloc(layout), layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(self.inner.alloc_zeroed(layout), layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.inner.dealloc(block, layout);
        self.bytes.fetch_sub(layout.size() as i64, Relaxed);
        self.blocks.fetch_sub(1, Relaxed);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let moved = self.inner.realloc(block, layout, new_size);
        if !moved.is_null() {
            self.bytes.fetch_add(new_size as i64 - layout.size() as i64, Relaxed);
        }
        moved
    }
}
