// SPDX-License-Identifier: MIT
//! What the scenarios stand on: a folder each, questions to a file, functions of C.
#![allow(dead_code)] // each file of scenarios uses a part of it
use memtracer::{Recording, Row, Value};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Memory is one for the process: one scenario at a time.
static ONE: Mutex<()> = Mutex::new(());
pub const MIB: u64 = 1 << 20;

extern "C" {
    pub fn fork() -> i32;
    pub fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    pub fn _exit(code: i32) -> !;
}

pub struct Place {
    pub folder: PathBuf,
    pub db: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl Place {
    pub fn new(name: &str) -> Place {
        let one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        let folder = std::env::temp_dir().join(format!("memtracer-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Place { db: folder.join("t.db"), folder, _one: one }
    }

    pub fn ask(&self, sql: &str) -> Vec<Row> {
        Recording::open(&self.db).unwrap().rows(sql).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn field<'a>(row: &'a Row, name: &str) -> &'a Value {
    &row.iter().find(|(n, _)| n == name).unwrap().1
}

pub fn near(value: i64, expected: u64, tolerance: u64) {
    let off = (value - expected as i64).unsigned_abs();
    assert!(off <= tolerance, "{value} is not {expected} ± {tolerance}");
}

/// The exit code of `body` in a forked child.
pub fn in_child(body: impl FnOnce() -> i32) -> i32 {
    let mut status = 0;
    unsafe {
        let pid = fork();
        if pid == 0 {
            _exit(catch_unwind(AssertUnwindSafe(body)).unwrap_or(255));
        }
        waitpid(pid, &mut status, 0);
    }
    status >> 8
}
