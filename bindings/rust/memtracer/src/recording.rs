// SPDX-License-Identifier: MIT
use crate::error::{c_string, check};
use crate::{sys, Result};
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

/// A value of a row, or a parameter of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl Value {
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Integer(i) => Some(*i),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(t) => Some(t),
            _ => None,
        }
    }

    unsafe fn from_c(v: &sys::tracer_value) -> Value {
        let bytes = || std::slice::from_raw_parts(v.bytes.cast::<u8>(), v.n_bytes as usize);
        match v.kind {
            sys::TRACER_VALUE_INTEGER => Value::Integer(v.integer),
            sys::TRACER_VALUE_REAL => Value::Real(v.real),
            sys::TRACER_VALUE_TEXT => Value::Text(String::from_utf8_lossy(bytes()).into_owned()),
            sys::TRACER_VALUE_BLOB => Value::Blob(bytes().to_vec()),
            _ => Value::Null,
        }
    }

    fn to_c(&self) -> sys::tracer_value {
        let mut v =
            sys::tracer_value { kind: 0, n_bytes: 0, integer: 0, real: 0.0, bytes: ptr::null() };
        let mut point = |kind, bytes: &[u8]| {
            v.kind = kind;
            v.n_bytes = bytes.len() as u32;
            v.bytes = bytes.as_ptr().cast();
        };
        match self {
            Value::Null => {}
            Value::Text(t) => point(sys::TRACER_VALUE_TEXT, t.as_bytes()),
            Value::Blob(b) => point(sys::TRACER_VALUE_BLOB, b),
            Value::Integer(i) => {
                v.kind = sys::TRACER_VALUE_INTEGER;
                v.integer = *i;
            }
            Value::Real(r) => {
                v.kind = sys::TRACER_VALUE_REAL;
                v.real = *r;
            }
        }
        v
    }
}

/// The columns of one row, in order.
pub type Row = Vec<(String, Value)>;

/// A memtracer file, read-only; also while it is being recorded.
pub struct Recording {
    reader: *mut sys::tracer_reader,
}

// One thread at a time may use a reader, whichever it is.
unsafe impl Send for Recording {}

impl Recording {
    pub fn open(path: impl AsRef<Path>) -> Result<Recording> {
        let path = c_string(crate::tracer::path_bytes(path.as_ref()))?;
        let mut reader = ptr::null_mut();
        check(unsafe { sys::tracer_reader_open(path.as_ptr(), &mut reader) })?;
        Ok(Recording { reader })
    }

    /// The rows of one SELECT, or of a query that memtracer brings by its name.
    pub fn rows(&self, sql: &str) -> Result<Vec<Row>> {
        self.rows_with(sql, &[])
    }

    /// The same with values for `?1`, `?2` …
    pub fn rows_with(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>> {
        let sql = c_string(sql)?;
        let params: Vec<_> = params.iter().map(Value::to_c).collect();
        let mut rows: Vec<Row> = Vec::new();
        let user: *mut Vec<Row> = &mut rows;
        check(unsafe {
            sys::tracer_reader_query(
                self.reader,
                sql.as_ptr(),
                if params.is_empty() { ptr::null() } else { params.as_ptr() },
                params.len() as u32,
                Some(add_row),
                user.cast(),
            )
        })?;
        Ok(rows)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        unsafe { sys::tracer_reader_close(self.reader) }
    }
}

unsafe extern "C" fn add_row(
    user: *mut c_void,
    n_columns: u32,
    names: *const *const c_char,
    values: *const sys::tracer_value,
) -> c_int {
    let row = (0..n_columns as usize)
        .map(|i| {
            let name = CStr::from_ptr(*names.add(i)).to_string_lossy().into_owned();
            (name, Value::from_c(&*values.add(i)))
        })
        .collect();
    (*user.cast::<Vec<Row>>()).push(row);
    0
}
