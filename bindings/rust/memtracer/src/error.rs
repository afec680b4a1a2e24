// SPDX-License-Identifier: MIT
use memtracer_sys as sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_int};

pub type Result<T> = std::result::Result<T, Error>;

/// A failed call: a code of `TRACER_E…` and a sentence that names the thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: i32,
    detail: String,
}

impl Error {
    /// `TRACER_EIO` and so on.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The code's name: "TRACER_EIO".
    pub fn name(&self) -> &'static str {
        let name = unsafe { sys::tracer_error_name(self.code) };
        if name.is_null() {
            "?"
        } else {
            text(name)
        }
    }

    pub(crate) fn new(code: i32, detail: &str) -> Self {
        Error { code, detail: detail.to_owned() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() {
            f.write_str(text(unsafe { sys::tracer_strerror(self.code) }))
        } else {
            f.write_str(&self.detail)
        }
    }
}

impl std::error::Error for Error {}

/// Words of the library, which live as long as it does.
pub(crate) fn text(words: *const c_char) -> &'static str {
    unsafe { CStr::from_ptr(words) }.to_str().unwrap_or("?")
}

pub(crate) fn check(code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let detail = unsafe { CStr::from_ptr(sys::tracer_last_error()) };
    Err(Error::new(code, &detail.to_string_lossy()))
}

pub(crate) fn c_string(bytes: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::new(sys::TRACER_EINVAL, "the text has a NUL inside"))
}
