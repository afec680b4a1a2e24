// SPDX-License-Identifier: MIT
//! Which kind of memory does this process hold, and when did it grow?
//!
//! ```no_run
//! let tracer = memtracer::Tracer::start("app.db")?;
//! tracer.mark("cache filled")?;
//! tracer.stop()?;
//! for row in memtracer::Recording::open("app.db")?.rows("SELECT * FROM punctuated_growth")? {
//!     println!("{row:?}");
//! }
//! # Ok::<(), memtracer::Error>(())
//! ```
//!
//! The sampler is a native thread that never calls into Rust; dropping a [`Tracer`] stops it. After
//! a fork a tracer is inert in the child. The file is described in memtracer(7).

mod allocator;
mod error;
mod recording;
mod tracer;

pub use allocator::CountingAllocator;
pub use error::{Error, Result};
pub use memtracer_sys as sys;
pub use recording::{Recording, Row, Value};
pub use tracer::{Counter, Options, Stats, Tracer, TypeBytes};

/// The version of the C library.
pub fn version() -> &'static str {
    error::text(unsafe { sys::tracer_version_string() })
}
