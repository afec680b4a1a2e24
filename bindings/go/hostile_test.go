// SPDX-License-Identifier: MIT

// The scenarios of bindings/contract/README.md that careless programs run into, in Go.
package memtracer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"memtracer/internal/native"
)

func refused(t *testing.T, got error, want *Error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatal(got)
	}
}

// sound: the file has one mark, and its run was stopped.
func sound(t *testing.T, db, label string) {
	t.Helper()
	equal(t, ask(t, db, "SELECT m.label AS label, state FROM mark m JOIN run"),
		[]Row{{"label": label, "state": "stopped"}})
}

func Test_501_not_a_recording(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	must(t, os.WriteFile(db, []byte("a letter"), 0o600))
	_, err := Start(db, nil)
	refused(t, err, ErrDatabase)
	_, err = Open(db)
	refused(t, err, ErrDatabase)
	text, err := os.ReadFile(db)
	must(t, err)
	equal(t, string(text), "a letter")
}

func Test_510_stop_twice(t *testing.T) {
	tracer, _ := begin(t, nil)
	must(t, tracer.Stop())
	must(t, tracer.Stop())
}

func Test_511_after_stop(t *testing.T) {
	tracer, db := begin(t, &Options{Runtime: true})
	counter, err := tracer.AddCounter("entries", "", "")
	must(t, err)
	must(t, tracer.Stop())
	_, totals := tracer.Totals()
	_, stats := tracer.Stats()
	_, problem := tracer.LastProblem()
	_, own := tracer.AddType("late", "")
	_, late := tracer.AddCounter("late", "", "")
	for _, err := range []error{tracer.Mark("late"), tracer.Sample(), tracer.Flush(),
		tracer.Pause(), tracer.Resume(), tracer.Claim(make([]byte, 9), TypeHeap, ""),
		tracer.Unclaim(make([]byte, 9)), counter.Set(1), totals, stats, problem, own, late} {
		refused(t, err, ErrState)
	}
	equal(t, len(ask(t, db, "SELECT * FROM mark")), 0)
}

func Test_520_start_twice(t *testing.T) {
	tracer, db := begin(t, nil)
	_, err := Start(db, nil)
	refused(t, err, ErrState)
	must(t, tracer.Mark("goes on"))
	must(t, tracer.Stop())
	sound(t, db, "goes on")
}

func Test_530_long_label(t *testing.T) {
	tracer, db := begin(t, &Options{Label: strings.Repeat("€", 1000)})
	must(t, tracer.Mark("x"+strings.Repeat("ü", 1000)))
	must(t, tracer.Stop())
	sound(t, db, "x"+strings.Repeat("ü", 127))
	label := ask(t, db, "SELECT label FROM run")[0]["label"].(string)
	equal(t, label, strings.Repeat("€", len(label)/3))
}

func Test_540_no_utf8(t *testing.T) {
	tracer, db := begin(t, nil)
	must(t, tracer.Mark("a \xff\xfe b"))
	must(t, tracer.Stop())
	sound(t, db, "a \xff\xfe b")
}

func Test_550_nul_inside(t *testing.T) {
	tracer, db := begin(t, nil)
	refused(t, tracer.Mark("a\x00b"), ErrInvalid)
	_, err := tracer.AddType("a\x00b", "")
	refused(t, err, ErrInvalid)
	_, err = tracer.AddCounter("a\x00b", "", "")
	refused(t, err, ErrInvalid)
	_, err = Start(db+"\x00b", nil)
	refused(t, err, ErrInvalid)
	_, err = Open(db + "\x00b")
	refused(t, err, ErrInvalid)
	must(t, tracer.Stop())
	equal(t, len(ask(t, db, "SELECT * FROM mark")), 0)
	files, err := os.ReadDir(filepath.Dir(db))
	must(t, err)
	equal(t, len(files), 1)
}

func forget(t *testing.T, db string) {
	tracer, err := Start(db, &Options{Runtime: true, Interval: 10 * time.Millisecond})
	must(t, err)
	must(t, tracer.Mark("then forgotten"))
}

func Test_560_forgotten(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	forget(t, db)
	for tries := 0; tries < 100; tries++ {
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
		if _, err := os.Stat(db + "-wal"); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	sound(t, db, "then forgotten")
}

func Test_610_fork(t *testing.T) {
	tracer, db := begin(t, nil)
	equal(t, native.MarkInChild(unsafe.Pointer(tracer.t)), ESTATE)
	must(t, tracer.Stop())
	equal(t, len(ask(t, db, "SELECT * FROM mark")), 0)
}

func Test_611_own_in_child(t *testing.T) {
	tracer, db := begin(t, nil)
	equal(t, native.RecordInChild(unsafe.Pointer(tracer.t), db+".child"), 0)
	must(t, tracer.Mark("parent"))
	must(t, tracer.Stop())
	sound(t, db, "parent")
	sound(t, db+".child", "child")
}
