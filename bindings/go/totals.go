// SPDX-License-Identifier: MIT

package memtracer

/*
#include <stdlib.h>
#include <memtracer/memtracer.h>
*/
import "C"

import (
	"strconv"
	"time"
	"unsafe"
)

// Total is one memory type of the newest sample.
type Total struct {
	Type    uint32
	Name    string
	Columns map[string]uint64 // by the names of the view vmmap; an unknown column is missing
}

// Totals are the newest bytes per type, without a new sample; ErrState before the first.
func (t *Tracer) Totals() ([]Total, error) {
	// What C fills in stands in memory of C: a struct of Go must not point to memory of Go.
	rows := (*[TypeCapacity]C.tracer_type_bytes)(
		C.calloc(TypeCapacity, C.size_t(unsafe.Sizeof(C.tracer_type_bytes{}))))
	if rows == nil {
		return nil, ErrNoMemory
	}
	defer C.free(unsafe.Pointer(rows))
	all := C.tracer_totals{capacity: TypeCapacity, types: &rows[0]}
	all.size = C.uint32_t(unsafe.Sizeof(all))
	err := t.with(func(h *C.tracer) C.int { return C.tracer_get_totals(h, &all) })
	if err != nil {
		return nil, err
	}
	totals := make([]Total, all.n_types)
	for i := range totals {
		totals[i] = t.total(&rows[i])
	}
	return totals, nil
}

func (t *Tracer) total(row *C.tracer_type_bytes) Total {
	values := (*[len(columns)]C.uint64_t)(unsafe.Pointer(&row.size_bytes))
	total := Total{Type: uint32(row._type), Columns: make(map[string]uint64)}
	for i, name := range columns {
		if row.known>>i&1 != 0 {
			total.Columns[name] = uint64(values[i])
		}
	}
	if name := C.tracer_type_name(row._type); name != nil {
		total.Name = C.GoString(name)
	} else if own, ok := t.names.Load(total.Type); ok {
		total.Name = own.(string)
	} else {
		total.Name = strconv.FormatUint(uint64(total.Type), 10)
	}
	return total
}

// Stats is what the tracer did and cost.
type Stats struct {
	State       uint32 // State…
	Ticks       uint64
	Missed      uint64 // ticks whose moment passed while another was running
	Failed      uint64 // ticks that saw nothing
	CostWall    time.Duration
	CostCPU     time.Duration
	LongestTick time.Duration
	OwnBytes    uint64 // address space the tracer has reserved, little of it touched
	FileBytes   uint64 // at the last commit
	Dropped     uint64 // marks and rows that could not be kept
}

// Stats tells what the tracer did and cost.
func (t *Tracer) Stats() (Stats, error) {
	s := C.tracer_stats{}
	s.size = C.uint32_t(unsafe.Sizeof(s))
	err := t.with(func(h *C.tracer) C.int { return C.tracer_get_stats(h, &s) })
	if err != nil {
		return Stats{}, err
	}
	return Stats{
		State:       uint32(s.state),
		Ticks:       uint64(s.n_ticks),
		Missed:      uint64(s.n_missed),
		Failed:      uint64(s.n_failed),
		CostWall:    time.Duration(s.cost_wall_ns),
		CostCPU:     time.Duration(s.cost_cpu_ns),
		LongestTick: time.Duration(s.longest_tick_ns),
		OwnBytes:    uint64(s.own_bytes),
		FileBytes:   uint64(s.file_bytes),
		Dropped:     uint64(s.n_dropped),
	}, nil
}
