// SPDX-License-Identifier: MIT

package memtracer

/*
#include <stdlib.h>
#include <memtracer/memtracer.h>
*/
import "C"

import (
	"runtime/metrics"
	"time"
	"unsafe"
)

// Counter is a counter of the program's own; the next sample stores what was set last.
type Counter struct {
	t      *state
	number C.uint32_t
}

// AddCounter adds a counter, or finds the one of that name. An empty unit is "count".
func (t *Tracer) AddCounter(name, unit, description string) (*Counter, error) {
	c := &Counter{t: t.state}
	if err := whole(name, unit, description); err != nil {
		return nil, err
	}
	if unit == "" {
		unit = "count"
	}
	cName, cUnit, cDescription := C.CString(name), C.CString(unit), C.CString(description)
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(cUnit))
	defer C.free(unsafe.Pointer(cDescription))
	err := t.with(func(h *C.tracer) C.int {
		return C.tracer_counter_add(h, cName, cUnit, cDescription, &c.number)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Set sets the counter as of now.
func (c *Counter) Set(value int64) error {
	return c.t.with(func(h *C.tracer) C.int {
		return C.tracer_counter_set(h, c.number, C.int64_t(value))
	})
}

// What Go's runtime says of its own memory. These are numbers of runtime.MemStats, read by
// runtime/metrics, which does not stop the world.
var runtimeKinds = []struct{ metric, name, unit, description string }{
	{"/memory/classes/heap/objects:bytes", "go_heap", "bytes",
		"objects of Go, live or not yet swept (MemStats.HeapAlloc)"},
	{"/memory/classes/total:bytes", "go_sys", "bytes",
		"address space that Go's runtime holds (MemStats.Sys)"},
	{"/memory/classes/heap/released:bytes", "go_released", "bytes",
		"of it, given back to the system (MemStats.HeapReleased)"},
	{"/memory/classes/heap/stacks:bytes", "go_stacks", "bytes",
		"stacks of goroutines (MemStats.StackInuse)"},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles", "count",
		"collections done (MemStats.NumGC)"},
	{"/sched/goroutines:goroutines", "go_goroutines", "count", "goroutines"},
}

type runtimeCounters struct {
	counters []*Counter
	quit     chan struct{}
	done     chan struct{}
}

func (t *Tracer) watchRuntime(interval time.Duration) error {
	r := &runtimeCounters{quit: make(chan struct{}), done: make(chan struct{})}
	for _, kind := range runtimeKinds {
		counter, err := t.AddCounter(kind.name, kind.unit, kind.description)
		if err != nil {
			return err
		}
		r.counters = append(r.counters, counter)
	}
	if interval <= 0 {
		interval = time.Second
	}
	r.set()
	go r.watch(interval)
	t.mu.Lock()
	t.runtime = r
	t.mu.Unlock()
	return nil
}

// count sets the runtime's counters as of now, where they were asked for.
func (t *Tracer) count() {
	t.mu.RLock()
	r := t.runtime
	t.mu.RUnlock()
	if r != nil {
		r.set()
	}
}

// set leaves out failures: a recording that ended by itself says so in Stop.
func (r *runtimeCounters) set() {
	samples := make([]metrics.Sample, len(runtimeKinds))
	for i, kind := range runtimeKinds {
		samples[i].Name = kind.metric
	}
	metrics.Read(samples)
	for i, sample := range samples {
		if sample.Value.Kind() == metrics.KindUint64 {
			_ = r.counters[i].Set(int64(sample.Value.Uint64()))
		}
	}
}

func (r *runtimeCounters) watch(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	defer close(r.done)
	for {
		select {
		case <-ticker.C:
			r.set()
		case <-r.quit:
			return
		}
	}
}

func (r *runtimeCounters) end() {
	close(r.quit)
	<-r.done
	r.set()
}
