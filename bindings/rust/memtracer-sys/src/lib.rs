// SPDX-License-Identifier: MIT
//! The functions and structs of memtracer.h and reader.h as they are. Use crate `memtracer`.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_void};

mod constants;
pub use constants::*;

/// Opaque.
#[repr(C)]
pub struct tracer {
    _private: [u8; 0],
}

/// Opaque.
#[repr(C)]
pub struct tracer_reader {
    _private: [u8; 0],
}

pub type tracer_log_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, level: c_int, message: *const c_char)>;

#[repr(C)]
pub struct tracer_options {
    pub size: u32,
    pub flags: u32,
    pub interval_ms: u32,
    pub commit_ms: u32,
    pub budget_ns: u64,
    pub max_file_bytes: u64,
    pub log: tracer_log_fn,
    pub log_user: *mut c_void,
    pub label: *const c_char,
    pub pid: u32,
    pub reserved: u32,
    pub stack_min_bytes: u64,
}

/// The states are in the order of [`COLUMNS`].
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct tracer_type_bytes {
    pub type_: u32,
    pub known: u32,
    pub columns: [u64; COLUMNS.len()],
}

#[repr(C)]
pub struct tracer_totals {
    pub size: u32,
    pub capacity: u32,
    pub n_types: u32,
    pub flags: u32,
    pub t_ns: i64,
    pub wall_ns: i64,
    pub types: *mut tracer_type_bytes,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct tracer_stats {
    pub size: u32,
    pub state: u32,
    pub n_ticks: u64,
    pub n_missed: u64,
    pub n_failed: u64,
    pub cost_wall_ns: u64,
    pub cost_cpu_ns: u64,
    pub longest_tick_ns: u64,
    pub own_bytes: u64,
    pub file_bytes: u64,
    pub n_dropped: u64,
}

#[repr(C)]
pub struct tracer_value {
    pub kind: u32,
    pub n_bytes: u32,
    pub integer: i64,
    pub real: f64,
    pub bytes: *const c_char,
}

pub type tracer_row_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        n_columns: u32,
        names: *const *const c_char,
        values: *const tracer_value,
    ) -> c_int,
>;

extern "C" {
    pub fn tracer_start(
        path: *const c_char,
        options: *const tracer_options,
        out: *mut *mut tracer,
    ) -> c_int;
    pub fn tracer_stop(t: *mut tracer) -> c_int;
    pub fn tracer_sample(t: *mut tracer) -> c_int;
    pub fn tracer_flush(t: *mut tracer) -> c_int;
    pub fn tracer_pause(t: *mut tracer) -> c_int;
    pub fn tracer_resume(t: *mut tracer) -> c_int;
    pub fn tracer_mark(t: *mut tracer, label: *const c_char) -> c_int;
    pub fn tracer_type_add(
        t: *mut tracer,
        name: *const c_char,
        description: *const c_char,
        out_type: *mut u32,
    ) -> c_int;
    pub fn tracer_claim(
        t: *mut tracer,
        addr: *const c_void,
        bytes: usize,
        type_: u32,
        label: *const c_char,
    ) -> c_int;
    pub fn tracer_unclaim(t: *mut tracer, addr: *const c_void, bytes: usize) -> c_int;
    pub fn tracer_counter_add(
        t: *mut tracer,
        name: *const c_char,
        unit: *const c_char,
        description: *const c_char,
        out_counter: *mut u32,
    ) -> c_int;
    pub fn tracer_counter_set(t: *mut tracer, counter: u32, value: i64) -> c_int;
    pub fn tracer_get_totals(t: *mut tracer, totals: *mut tracer_totals) -> c_int;
    pub fn tracer_get_stats(t: *mut tracer, stats: *mut tracer_stats) -> c_int;
    pub fn tracer_last_problem(t: *mut tracer, text: *mut c_char, text_bytes: usize) -> c_int;
    pub fn tracer_type_name(type_: u32) -> *const c_char;
    pub fn tracer_error_name(code: c_int) -> *const c_char;
    pub fn tracer_strerror(code: c_int) -> *const c_char;
    pub fn tracer_last_error() -> *const c_char;
    pub fn tracer_version() -> u32;
    pub fn tracer_version_string() -> *const c_char;
    pub fn tracer_options_init(options: *mut tracer_options, size: u32);
    pub fn tracer_reader_open(path: *const c_char, out: *mut *mut tracer_reader) -> c_int;
    pub fn tracer_reader_close(r: *mut tracer_reader);
    pub fn tracer_reader_query(
        r: *mut tracer_reader,
        sql: *const c_char,
        params: *const tracer_value,
        n_params: u32,
        row: tracer_row_fn,
        user: *mut c_void,
    ) -> c_int;
}
