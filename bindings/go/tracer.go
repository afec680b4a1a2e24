// SPDX-License-Identifier: MIT

// Package memtracer records which kind of memory this process holds, and when it grew.
//
//	t, err := memtracer.Start("app.db", nil)
//	if err != nil {
//		return err
//	}
//	defer t.Stop()
//	t.Mark("cache filled")
//
// The sampler is a native thread that never calls into Go. A Tracer may be used by several
// goroutines at once. The file is described in memtracer(7).
package memtracer

/*
#cgo pkg-config: memtracer
#include <stdlib.h>
#include <memtracer/memtracer.h>
*/
import "C"

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Options of a recording; the zero value of a field is its default.
type Options struct {
	Flags         uint32        // Flag…
	Interval      time.Duration // between ticks; 1 s
	Commit        time.Duration // the most that a crash may lose; 1 s
	Budget        time.Duration // CPU time of a tick aimed at; 1 % of Interval
	MaxFileBytes  uint64        // cap of the file; none
	Label         string        // names the run; the program's name
	PID           uint32        // another process, watched from outside; this one
	StackMinBytes uint64        // FlagStacks: least malloc() that counts; 128 KiB
	Runtime       bool          // put what Go's runtime says of its memory beside the samples
}

// Tracer records until Stop, or until it is collected.
type Tracer struct {
	*state
	runtime *runtimeCounters
	names   sync.Map // number of an own type → name
}

// state is what counters hold too, so that they do not hold the Tracer.
type state struct {
	mu sync.RWMutex // held for writing while t is taken away, or Tracer.runtime is changed
	t  *C.tracer
}

// whole refuses texts of which C would read only the part before a NUL.
func whole(texts ...string) error {
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return &Error{Code: EINVAL, Detail: "the text has a NUL inside: " + strconv.Quote(text)}
		}
	}
	return nil
}

// milliseconds that do not fit become a number that is refused.
func milliseconds(d time.Duration) C.uint32_t {
	if d < 0 || d.Milliseconds() > math.MaxUint32 {
		return math.MaxUint32
	}
	return C.uint32_t(d.Milliseconds())
}

// Version of the C library.
func Version() string {
	return C.GoString(C.tracer_version_string())
}

// Start records into the file path. Nil options are all defaults.
func Start(path string, options *Options) (*Tracer, error) {
	var o C.tracer_options
	if options == nil {
		options = &Options{}
	}
	if err := whole(path, options.Label); err != nil {
		return nil, err
	}
	C.tracer_options_init(&o, C.uint32_t(unsafe.Sizeof(o)))
	o.flags = C.uint32_t(options.Flags)
	o.interval_ms = milliseconds(options.Interval)
	o.commit_ms = milliseconds(options.Commit)
	o.budget_ns = C.uint64_t(options.Budget.Nanoseconds())
	o.max_file_bytes = C.uint64_t(options.MaxFileBytes)
	o.pid = C.uint32_t(options.PID)
	o.stack_min_bytes = C.uint64_t(options.StackMinBytes)
	if options.Label != "" {
		o.label = C.CString(options.Label)
		defer C.free(unsafe.Pointer(o.label))
	}
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	t := &Tracer{state: &state{}}
	if err := check(func() C.int { return C.tracer_start(file, &o, &t.t) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(t, func(t *Tracer) { t.Stop() })
	if options.Runtime {
		if err := t.watchRuntime(options.Interval); err != nil {
			t.Stop()
			return nil, err
		}
	}
	return t, nil
}

// Stop takes a last sample, closes the file and returns the first error that recording met.
// Stopping again does nothing.
func (t *Tracer) Stop() error {
	t.mu.Lock()
	counters := t.runtime
	t.runtime = nil
	t.mu.Unlock()
	if counters != nil {
		counters.end()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	handle := t.t
	t.t = nil
	return check(func() C.int { return C.tracer_stop(handle) })
}

// with calls C with the tracer, unless it is stopped.
func (t *state) with(call func(*C.tracer) C.int) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.t == nil {
		return &Error{Code: ESTATE, Detail: "the tracer is stopped"}
	}
	return check(func() C.int { return call(t.t) })
}

func (t *Tracer) with(call func(*C.tracer) C.int) error {
	defer runtime.KeepAlive(t) // a Tracer that nobody holds is not stopped before the call is done
	return t.state.with(call)
}

// Mark notes that something happened now.
func (t *Tracer) Mark(label string) error {
	if err := whole(label); err != nil {
		return err
	}
	text := C.CString(label)
	defer C.free(unsafe.Pointer(text))
	t.count()
	return t.with(func(h *C.tracer) C.int { return C.tracer_mark(h, text) })
}

// Sample takes one full sample now and commits it.
func (t *Tracer) Sample() error {
	t.count()
	return t.with(func(h *C.tracer) C.int { return C.tracer_sample(h) })
}

// Flush commits what has been sampled.
func (t *Tracer) Flush() error {
	return t.with(func(h *C.tracer) C.int { return C.tracer_flush(h) })
}

// Pause stops the timer; marks and Sample go on working.
func (t *Tracer) Pause() error {
	return t.with(func(h *C.tracer) C.int { return C.tracer_pause(h) })
}

// Resume starts the timer again.
func (t *Tracer) Resume() error {
	return t.with(func(h *C.tracer) C.int { return C.tracer_resume(h) })
}

// AddType adds a memory type of the program's own, or finds the one of that name.
func (t *Tracer) AddType(name, description string) (uint32, error) {
	var number C.uint32_t
	if err := whole(name, description); err != nil {
		return 0, err
	}
	cName, cDescription := C.CString(name), C.CString(description)
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(cDescription))
	err := t.with(func(h *C.tracer) C.int {
		return C.tracer_type_add(h, cName, cDescription, &number)
	})
	if err == nil {
		t.names.Store(uint32(number), name)
	}
	return uint32(number), err
}

// Claim says that the memory belongs to a type from the next tick on, until unclaimed. Only the
// address is kept: unclaim before the memory goes. Memory of C is claimed by unsafe.Slice.
func (t *Tracer) Claim(memory []byte, typ uint32, label string) error {
	var cLabel *C.char
	if err := whole(label); err != nil {
		return err
	}
	if label != "" {
		cLabel = C.CString(label)
		defer C.free(unsafe.Pointer(cLabel))
	}
	return t.with(func(h *C.tracer) C.int {
		return C.tracer_claim(h, start(memory), C.size_t(len(memory)), C.uint32_t(typ), cLabel)
	})
}

// Unclaim takes back every claim that lies wholly inside the memory.
func (t *Tracer) Unclaim(memory []byte) error {
	return t.with(func(h *C.tracer) C.int {
		return C.tracer_unclaim(h, start(memory), C.size_t(len(memory)))
	})
}

func start(memory []byte) unsafe.Pointer {
	if len(memory) == 0 {
		return nil
	}
	return unsafe.Pointer(&memory[0])
}

// LastProblem is the newest problem in one sentence, empty when there was none.
func (t *Tracer) LastProblem() (string, error) {
	var text [512]C.char
	err := t.with(func(h *C.tracer) C.int {
		return C.tracer_last_problem(h, &text[0], C.size_t(len(text)))
	})
	return C.GoString(&text[0]), err
}
