// SPDX-License-Identifier: MIT
// Written by bindings/constants.py from the C headers; change those.

pub const TRACER_OK: i32 = 0;
pub const TRACER_EINVAL: i32 = -1;
pub const TRACER_ENOMEM: i32 = -2;
pub const TRACER_EIO: i32 = -3;
pub const TRACER_EDB: i32 = -4;
pub const TRACER_ESCHEMA: i32 = -5;
pub const TRACER_EUNSUPPORTED: i32 = -6;
pub const TRACER_EDENIED: i32 = -7;
pub const TRACER_ESTATE: i32 = -8;
pub const TRACER_ETHREAD: i32 = -9;
pub const TRACER_ELIMIT: i32 = -10;
pub const TRACER_EVERSION: i32 = -11;
pub const TRACER_EOVERLAP: i32 = -12;
pub const TRACER_TYPE_IMAGE: u32 = 1;
pub const TRACER_TYPE_MAPPED_FILE: u32 = 2;
pub const TRACER_TYPE_SHAREABLE: u32 = 3;
pub const TRACER_TYPE_HEAP: u32 = 4;
pub const TRACER_TYPE_MANAGED_HEAP: u32 = 5;
pub const TRACER_TYPE_STACK: u32 = 6;
pub const TRACER_TYPE_PRIVATE: u32 = 7;
pub const TRACER_TYPE_DEVICE: u32 = 8;
pub const TRACER_TYPE_PAGE_TABLE: u32 = 9;
pub const TRACER_TYPE_UNUSABLE: u32 = 10;
pub const TRACER_TYPE_FREE: u32 = 11;
pub const TRACER_TYPE_TRACER: u32 = 12;
pub const TRACER_TYPE_USER_FIRST: u32 = 32;
pub const TRACER_TYPE_CAPACITY: u32 = 64;
pub const TRACER_LOG_INFO: u32 = 0;
pub const TRACER_LOG_WARNING: u32 = 1;
pub const TRACER_LOG_ERROR: u32 = 2;
pub const TRACER_F_NO_REGIONS: u32 = 1;
pub const TRACER_F_NO_PAGES: u32 = 2;
pub const TRACER_F_NO_ALLOCATOR: u32 = 4;
pub const TRACER_F_STACKS: u32 = 8;
pub const TRACER_F_ALL: u32 = 15;
pub const TRACER_COLUMN_SIZE: u32 = 0;
pub const TRACER_COLUMN_COMMITTED: u32 = 1;
pub const TRACER_COLUMN_CHARGED: u32 = 2;
pub const TRACER_COLUMN_PRIVATE: u32 = 3;
pub const TRACER_COLUMN_WS: u32 = 4;
pub const TRACER_COLUMN_WS_PRIVATE: u32 = 5;
pub const TRACER_COLUMN_WS_SHAREABLE: u32 = 6;
pub const TRACER_COLUMN_WS_SHARED: u32 = 7;
pub const TRACER_COLUMN_PSS: u32 = 8;
pub const TRACER_COLUMN_SWAP: u32 = 9;
pub const TRACER_COLUMN_LOCKED: u32 = 10;
pub const TRACER_COLUMN_HUGE: u32 = 11;
pub const TRACER_COLUMN_LAZY_FREE: u32 = 12;
pub const TRACER_COLUMN_BLOCKS: u32 = 13;
pub const TRACER_COLUMN_LARGEST: u32 = 14;
pub const TRACER_STATE_RECORDING: u32 = 1;
pub const TRACER_STATE_PAUSED: u32 = 2;
pub const TRACER_STATE_DEGRADED: u32 = 3;
pub const TRACER_STATE_SUSPENDED: u32 = 4;
pub const TRACER_STATE_ENDED: u32 = 5;
pub const TRACER_VALUE_NULL: u32 = 0;
pub const TRACER_VALUE_INTEGER: u32 = 1;
pub const TRACER_VALUE_REAL: u32 = 2;
pub const TRACER_VALUE_TEXT: u32 = 3;
pub const TRACER_VALUE_BLOB: u32 = 4;
pub const TRACER_SHAPE_PUNCTUATED: u32 = 0;
pub const TRACER_SHAPE_LINEAR: u32 = 1;
pub const TRACER_SHAPE_EXPONENTIAL: u32 = 2;
pub const TRACER_SHAPE_FRAGMENTATION: u32 = 3;
pub const TRACER_SHAPE_STEADY: u32 = 4;
pub const TRACER_SHAPE_SAWTOOTH: u32 = 5;
pub const TRACER_SHAPE_WARMUP: u32 = 6;
pub const TRACER_SHAPE_JUMP: u32 = 7;
pub const TRACER_SHAPE_DIURNAL: u32 = 8;
pub const TRACER_SHAPE_TOO_SHORT: u32 = 9;
pub const TRACER_CAUSE_NONE: u32 = 0;
pub const TRACER_CAUSE_LIVE: u32 = 1;
pub const TRACER_CAUSE_RETENTION: u32 = 2;
pub const TRACER_CAUSE_FILE: u32 = 3;
pub const TRACER_CAUSE_RESERVATION: u32 = 4;
pub const TRACER_CAUSE_HUGE_PAGES: u32 = 5;
pub const TRACER_CAUSE_STACKS: u32 = 6;
pub const TRACER_CAUSE_REGIONS: u32 = 7;
pub const TRACER_CAUSE_LAZY_FREE: u32 = 8;
pub const TRACER_MEASURE_HELD: u32 = 0;
pub const TRACER_MEASURE_COMMITTED: u32 = 1;
pub const TRACER_MEASURE_SIZE: u32 = 2;
pub const TRACER_LIMIT_NONE: u32 = 0;
pub const TRACER_LIMIT_CGROUP: u32 = 1;
pub const TRACER_LIMIT_HOST: u32 = 2;
pub const TRACER_LIMIT_ADDRESS: u32 = 3;
pub const TRACER_LIMIT_DATA: u32 = 4;
pub const TRACER_LIMIT_ADDRESS_SPACE: u32 = 5;
pub const TRACER_LIMIT_REGIONS: u32 = 6;
pub const TRACER_LIMIT_GIVEN: u32 = 7;
pub const TRACER_SCHEMA_VERSION: u32 = 1;
pub const TRACER_APPLICATION_ID: u32 = 1836348003;

/// The states of a type, in the order of `tracer_type_bytes`.
pub const COLUMNS: [&str; 15] = [
    "size",
    "committed",
    "charged",
    "private",
    "ws",
    "ws_private",
    "ws_shareable",
    "ws_shared",
    "pss",
    "swap",
    "locked",
    "huge",
    "lazy_free",
    "blocks",
    "largest",
];
