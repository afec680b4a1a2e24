// SPDX-License-Identifier: MIT
//! The scenarios of bindings/contract/README.md that careless programs run into, in Rust.
mod common;
use common::{field, in_child, Place};
use memtracer::{sys, CountingAllocator, Options, Recording, Result, Tracer, Value};
use std::path::Path;
use std::time::Duration;

static ALLOCATOR: CountingAllocator = CountingAllocator::system();

fn refused<T>(code: i32, result: Result<T>) {
    assert_eq!(result.err().unwrap().code(), code);
}

/// The file has one mark, and its run was stopped.
fn whole(db: &Path, label: &str) {
    let rows = Recording::open(db)
        .unwrap()
        .rows("SELECT m.label AS label, state FROM mark m JOIN run")
        .unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(field(&rows[0], "label").as_str(), Some(label));
    assert_eq!(field(&rows[0], "state").as_str(), Some("stopped"));
}

#[test]
fn test_501_not_a_recording() {
    let p = Place::new("501");
    std::fs::write(&p.db, "a letter").unwrap();
    refused(sys::TRACER_EDB, Tracer::start(&p.db));
    refused(sys::TRACER_EDB, Recording::open(&p.db));
    assert_eq!(std::fs::read_to_string(&p.db).unwrap(), "a letter");
}

#[test]
fn test_510_stop_twice() {
    let p = Place::new("510");
    let t = Tracer::start(&p.db).unwrap();
    assert_eq!(unsafe { sys::tracer_stop(t.as_ptr()) }, sys::TRACER_OK);
    assert_eq!(t.mark("late").unwrap_err().code(), sys::TRACER_ESTATE);
    assert_eq!(t.stop().unwrap_err().code(), sys::TRACER_ESTATE);
}

/// A tracer that is stopped is gone in Rust; what outlives it is its counter.
#[test]
fn test_511_after_stop() {
    let p = Place::new("511");
    let t = Tracer::start(&p.db).unwrap();
    let counter = t.add_counter("entries", "count", "").unwrap();
    t.watch_allocator(&ALLOCATOR, Duration::from_millis(1)).unwrap();
    assert_eq!(unsafe { sys::tracer_stop(t.as_ptr()) }, sys::TRACER_OK);
    refused(sys::TRACER_ESTATE, t.mark("late"));
    refused(sys::TRACER_ESTATE, t.sample());
    refused(sys::TRACER_ESTATE, t.flush());
    refused(sys::TRACER_ESTATE, t.pause());
    refused(sys::TRACER_ESTATE, t.resume());
    refused(sys::TRACER_ESTATE, t.totals());
    refused(sys::TRACER_ESTATE, t.stats());
    refused(sys::TRACER_ESTATE, t.last_problem());
    refused(sys::TRACER_ESTATE, t.add_type("late", ""));
    refused(sys::TRACER_ESTATE, t.add_counter("late", "count", ""));
    refused(sys::TRACER_ESTATE, t.claim(&[0; 9], sys::TRACER_TYPE_HEAP, ""));
    drop(t);
    refused(sys::TRACER_ESTATE, counter.set(1));
    assert!(p.ask("SELECT * FROM mark").is_empty());
}

#[test]
fn test_520_start_twice() {
    let p = Place::new("520");
    let t = Tracer::start(&p.db).unwrap();
    refused(sys::TRACER_ESTATE, Tracer::start(&p.db));
    t.mark("goes on").unwrap();
    t.stop().unwrap();
    whole(&p.db, "goes on");
}

#[test]
fn test_530_long_label() {
    let p = Place::new("530");
    let options = Options { label: Some("€".repeat(1000)), ..Options::default() };
    let t = Tracer::with(&p.db, &options).unwrap();
    t.mark(&("x".to_owned() + &"ü".repeat(1000))).unwrap();
    t.stop().unwrap();
    whole(&p.db, &("x".to_owned() + &"ü".repeat(127)));
    let rows = p.ask("SELECT label FROM run");
    let label = field(&rows[0], "label").as_str().unwrap();
    assert_eq!(label, "€".repeat(label.chars().count()));
}

/// A `str` is always UTF-8; such bytes come from C.
#[test]
fn test_540_no_utf8() {
    let p = Place::new("540");
    let t = Tracer::start(&p.db).unwrap();
    let error = unsafe { sys::tracer_mark(t.as_ptr(), b"a \xff\xfe b\0".as_ptr().cast()) };
    assert_eq!(error, sys::TRACER_OK);
    t.stop().unwrap();
    whole(&p.db, "a \u{fffd}\u{fffd} b");
    let hex = p.ask("SELECT hex(label) AS h FROM mark");
    assert_eq!(field(&hex[0], "h"), &Value::Text("6120FFFE2062".to_owned()));
}

#[test]
fn test_550_nul_inside() {
    let p = Place::new("550");
    let t = Tracer::start(&p.db).unwrap();
    refused(sys::TRACER_EINVAL, t.mark("a\0b"));
    refused(sys::TRACER_EINVAL, t.add_type("a\0b", ""));
    refused(sys::TRACER_EINVAL, t.add_counter("a\0b", "count", ""));
    refused(sys::TRACER_EINVAL, Tracer::start(p.folder.join("a\0b")));
    refused(sys::TRACER_EINVAL, Recording::open(p.folder.join("a\0b")));
    t.stop().unwrap();
    assert!(p.ask("SELECT * FROM mark").is_empty());
    assert_eq!(std::fs::read_dir(&p.folder).unwrap().count(), 1);
}

#[test]
fn test_560_forgotten() {
    let p = Place::new("560");
    {
        let t = Tracer::start(&p.db).unwrap();
        t.watch_allocator(&ALLOCATOR, Duration::from_millis(1)).unwrap();
        t.mark("then forgotten").unwrap();
    }
    whole(&p.db, "then forgotten");
    assert_eq!(std::fs::read_dir(&p.folder).unwrap().count(), 1);
}

#[test]
fn test_610_fork() {
    let p = Place::new("610");
    let t = Tracer::start(&p.db).unwrap();
    let code = in_child(|| t.mark("child").err().map_or(0, |e| -e.code()));
    assert_eq!(code, -sys::TRACER_ESTATE);
    t.stop().unwrap();
    assert!(p.ask("SELECT * FROM mark").is_empty());
}

#[test]
fn test_611_own_in_child() {
    let p = Place::new("611");
    let other = p.folder.join("child.db");
    let mut t = Some(Tracer::start(&p.db).unwrap());
    t.as_ref().unwrap().watch_allocator(&ALLOCATOR, Duration::from_secs(1)).unwrap();
    let record = |inherited: Tracer| {
        inherited.stop()?;
        let own = Tracer::start(&other)?;
        own.mark("child")?;
        own.stop()
    };
    assert_eq!(in_child(|| record(t.take().unwrap()).err().map_or(0, |e| -e.code())), 0);
    let t = t.unwrap();
    t.mark("parent").unwrap();
    t.stop().unwrap();
    whole(&p.db, "parent");
    whole(&other, "child");
}
