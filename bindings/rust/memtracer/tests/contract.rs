// SPDX-License-Identifier: MIT
//! The scenarios of bindings/contract/README.md in Rust; those of careless use are in hostile.rs.
mod common;
use common::{field, near, Place, MIB};
use memtracer::{sys, CountingAllocator, Error, Options, Recording, Row, Tracer, Value};
use std::ffi::CString;
use std::os::raw::c_char;
use std::process::Command;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::system();

extern "C" {
    fn malloc(bytes: usize) -> *mut u8;
    fn mmap(at: *mut u8, n: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
    fn munmap(at: *mut u8, n: usize) -> i32;
    fn dlopen(path: *const c_char, flags: i32) -> *mut u8;
    fn dlsym(library: *mut u8, name: *const c_char) -> *mut u8;
}

fn resident(t: &Tracer) -> i64 {
    t.sample().unwrap();
    t.totals().unwrap().iter().map(|row| row.get("ws").unwrap_or(0) as i64).sum()
}

fn touch(block: *mut u8, bytes: usize) {
    for at in (0..bytes).step_by(4096) {
        unsafe { block.add(at).write_volatile(1) };
    }
}

#[test]
fn test_010_load() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../include/memtracer/version.h");
    let header = std::fs::read_to_string(header).unwrap();
    assert!(header.contains(&format!("VERSION_STRING \"{}\"", memtracer::version())));
}

#[test]
fn test_100_start_and_stop() {
    let p = Place::new("100");
    Tracer::start(&p.db).unwrap().stop().unwrap();
    assert_eq!(std::fs::read_dir(&p.folder).unwrap().count(), 1);
    assert_eq!(field(&p.ask("SELECT state FROM run")[0], "state").as_str(), Some("stopped"));
    drop(Tracer::start(&p.db).unwrap());
    assert_eq!(p.ask("SELECT 1 FROM run WHERE state = 'stopped'").len(), 2);
}

#[test]
fn test_110_defaults() {
    let p = Place::new("110");
    Tracer::start(&p.db).unwrap().stop().unwrap();
    let name = std::fs::read_to_string("/proc/self/comm").unwrap();
    let rows = p.ask("SELECT interval_ms, label FROM run");
    assert_eq!(field(&rows[0], "interval_ms"), &Value::Integer(1000));
    assert_eq!(field(&rows[0], "label").as_str(), Some(name.trim()));
}

#[test]
fn test_120_options() {
    let p = Place::new("120");
    let options = Options { flags: 1 << 31, ..Options::default() };
    let error = Tracer::with(&p.db, &options).err().unwrap();
    assert_eq!((error.code(), error.name()), (sys::TRACER_EINVAL, "TRACER_EINVAL"));
    let options = Options { interval: Duration::from_millis((1 << 32) + 1000), ..Options::default() };
    assert_eq!(Tracer::with(&p.db, &options).err().unwrap().code(), sys::TRACER_EINVAL);
    assert!(!p.db.exists());
}

#[test]
fn test_200_mark() {
    let p = Place::new("200");
    let label = "reload 'ü' \\ </script>";
    let t = Tracer::start(&p.db).unwrap();
    t.mark(label).unwrap();
    t.stop().unwrap();
    assert_eq!(field(&p.ask("SELECT label FROM mark")[0], "label").as_str(), Some(label));
}

#[test]
fn test_210_own_type() {
    let p = Place::new("210");
    let pool = vec![1u8; 8 << 20];
    let t = Tracer::start(&p.db).unwrap();
    let id = t.add_type("pool", "of the test").unwrap();
    let ws = |t: &Tracer| {
        t.sample().unwrap();
        let rows = t.totals().unwrap();
        rows.iter().find(|r| r.type_id == id).unwrap().get("ws").unwrap() as i64
    };
    t.claim(&pool, id, "the pool").unwrap();
    near(ws(&t), 8 * MIB, 8192);
    t.unclaim(&pool).unwrap();
    assert_eq!(ws(&t), 0);
    assert_eq!(id, sys::TRACER_TYPE_USER_FIRST);
}

#[test]
fn test_220_counters() {
    let p = Place::new("220");
    let t = Tracer::start(&p.db).unwrap();
    let counter = t.add_counter("entries", "count", "of the cache").unwrap();
    counter.set(3).unwrap();
    t.sample().unwrap();
    counter.set(-4).unwrap();
    assert_eq!(t.add_counter("threads", "count", "").err().unwrap().code(), sys::TRACER_EINVAL);
    t.stop().unwrap();
    assert_eq!(counter.set(1).unwrap_err().code(), sys::TRACER_ESTATE);
    let rows = p.ask(
        "SELECT value FROM counter JOIN counter_kind k ON k.id = counter \
         WHERE k.name = 'entries' AND k.unit = 'count' ORDER BY sample",
    );
    let values: Vec<_> = rows.iter().map(|r| field(r, "value").as_i64().unwrap()).collect();
    assert_eq!(values, [3, -4]);
}

#[test]
fn test_300_grow() {
    let p = Place::new("300");
    let t = Tracer::start(&p.db).unwrap();
    resident(&t);
    let before = resident(&t);
    let pool = vec![1u8; 32 << 20];
    near(resident(&t) - before, 32 * MIB, 2 * MIB);
    assert_eq!(pool[0], 1);
}

#[test]
fn test_310_shrink() {
    let p = Place::new("310");
    let t = Tracer::start(&p.db).unwrap();
    resident(&t);
    let before = resident(&t);
    let pool = unsafe { mmap(std::ptr::null_mut(), 32 << 20, 3, 0x22, -1, 0) };
    touch(pool, 32 << 20);
    near(resident(&t) - before, 32 * MIB, 2 * MIB);
    unsafe { munmap(pool, 32 << 20) };
    near(resident(&t), before as u64, 2 * MIB);
}

/// Six leaks by a function of C, each after a mark.
fn leak_by(take: impl Fn(usize), db: &std::path::Path, flags: u32) {
    let t = Tracer::with(db, &Options { flags, ..Options::default() }).unwrap();
    t.watch_allocator(&ALLOCATOR, Duration::from_millis(100)).unwrap();
    t.pause().unwrap(); // no tick of the timer falls into a leak
    t.sample().unwrap();
    for _ in 0..6 {
        t.mark("call of C").unwrap();
        take(4 << 20);
        t.sample().unwrap();
    }
    t.stop().unwrap();
}

/// The steps that the file has of that.
fn leaked(p: &Place) -> Vec<Row> {
    let story = p.ask("heap_story");
    let grew = |name: &str| {
        let row = story.iter().find(|r| field(r, "name").as_str() == Some(name)).unwrap();
        field(row, "grew").as_i64().unwrap()
    };
    near(grew("heap"), 24 * MIB, MIB);
    near(grew("rust_heap"), 0, MIB / 2);
    let steps = p.ask("SELECT mark, bytes, site FROM punctuated_growth WHERE type = 'heap'");
    assert_eq!(steps.len(), 6);
    for step in &steps {
        assert_eq!(field(step, "mark").as_str(), Some("call of C"));
        near(field(step, "bytes").as_i64().unwrap(), 4 * MIB, MIB / 2);
    }
    steps
}

#[test]
fn test_320_native_leak() {
    let p = Place::new("320");
    leak_by(|bytes| touch(unsafe { malloc(bytes) }, bytes), &p.db, 0);
    leaked(&p);
}

/// A plugin of C leaks, in a process that runs this test again under libmemtracer-stacks.
#[test]
fn test_321_leak_site() {
    let p = Place::new("321");
    let (Ok(stacks), Ok(plugin)) =
        (std::env::var("MEMTRACER_STACKS"), std::env::var("MEMTRACER_TEST_PLUGIN"))
    else {
        return;
    };
    if let Ok(db) = std::env::var("MEMTRACER_LEAK_INTO") {
        let (path, name) = (CString::new(plugin).unwrap(), CString::new("contract_leak").unwrap());
        let leak: extern "C" fn(usize) =
            unsafe { std::mem::transmute(dlsym(dlopen(path.as_ptr(), 2), name.as_ptr())) };
        return leak_by(|bytes| leak(bytes), db.as_ref(), sys::TRACER_F_STACKS);
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "test_321_leak_site"])
        .env("LD_PRELOAD", stacks)
        .env("MEMTRACER_LEAK_INTO", &p.db)
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    for step in leaked(&p) {
        assert!(field(&step, "site").as_str().unwrap().starts_with(&format!("{plugin}+0x")));
    }
    if let Ok(cli) = std::env::var("MEMTRACER_CLI") {
        let out = Command::new(cli).arg("steps").arg(&p.db).output().unwrap();
        let told = String::from_utf8(out.stdout).unwrap();
        assert!(told.contains("contract_leak") || told.contains("+0x"), "{told}"); // needs libdw
    }
}

/// The values of all rows as the command line writes them in JSON.
fn flat(rows: &[Row]) -> Vec<String> {
    rows.iter().flatten().map(|(name, value)| match value {
        Value::Null => format!("\"{name}\": null"),
        Value::Integer(i) => format!("\"{name}\": {i}"),
        Value::Text(t) => format!("\"{name}\": \"{t}\""),
        other => panic!("{name} is {other:?}"),
    }).collect()
}

#[test]
fn test_400_read() {
    let p = Place::new("400");
    Tracer::start(&p.db).unwrap().stop().unwrap();
    let rows = p.ask("SELECT * FROM vmmap");
    assert_eq!(field(rows.last().unwrap(), "type").as_str(), Some("total"));
    let Ok(cli) = std::env::var("MEMTRACER_CLI") else {
        return;
    };
    let out = Command::new(cli)
        .args(["sql", "--json"])
        .arg(&p.db)
        .arg("SELECT * FROM vmmap")
        .output()
        .unwrap();
    let told: Vec<String> = String::from_utf8(out.stdout)
        .unwrap()
        .split(|c| "{}[],\n".contains(c))
        .map(|field| field.trim().to_owned())
        .filter(|field| !field.is_empty())
        .collect();
    assert_eq!(flat(&rows), told);
}

#[test]
fn test_500_errors() {
    let p = Place::new("500");
    let missing = p.folder.join("none").join("x.db");
    let error: Box<dyn std::error::Error> = Box::new(Tracer::start(&missing).err().unwrap());
    assert_eq!(error.downcast_ref::<Error>().unwrap().code(), sys::TRACER_EIO);
    assert!(error.to_string().contains(missing.to_str().unwrap()));
    assert_eq!(Recording::open(&missing).err().unwrap().code(), sys::TRACER_EIO);
}
