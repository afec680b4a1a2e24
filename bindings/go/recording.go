// SPDX-License-Identifier: MIT

package memtracer

/*
#include <stdlib.h>
#include <memtracer/reader.h>

typedef const char *const *memtracer_go_names;
typedef const tracer_value *memtracer_go_values;
extern int memtracerGoRow(void *user, uint32_t n, memtracer_go_names names,
                          memtracer_go_values values);

static int memtracer_go_query(tracer_reader *r, const char *sql, const tracer_value *params,
                              uint32_t n_params, uintptr_t user)
{
    return tracer_reader_query(r, sql, params, n_params, memtracerGoRow, (void *)user);
}
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// Row of an answer by column: nil, int64, float64, string or []byte.
type Row map[string]any

// Recording is a memtracer file, read-only, also while it is being recorded.
type Recording struct {
	mu sync.Mutex
	r  *C.tracer_reader
}

// Open opens a recording.
func Open(path string) (*Recording, error) {
	if err := whole(path); err != nil {
		return nil, err
	}
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	r := &Recording{}
	if err := check(func() C.int { return C.tracer_reader_open(file, &r.r) }); err != nil {
		return nil, err
	}
	return r, nil
}

// Close frees the recording. Closing again does nothing.
func (r *Recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	C.tracer_reader_close(r.r)
	r.r = nil
	return nil
}

// Rows answers one SELECT, or a query that memtracer brings by its name ("heap_story"). The
// parameters bind to ?1, ?2 and so on.
func (r *Recording) Rows(sql string, params ...any) ([]Row, error) {
	var rows []Row
	err := r.Each(sql, func(row Row) bool {
		rows = append(rows, row)
		return true
	}, params...)
	return rows, err
}

// Each calls row for each row of the answer, until it returns false.
func (r *Recording) Each(sql string, row func(Row) bool, params ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.r == nil {
		return &Error{Code: ESTATE, Detail: "the recording is closed"}
	}
	if err := whole(sql); err != nil {
		return err
	}
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	bound, release, err := bind(params)
	defer release()
	if err != nil {
		return err
	}
	handle := cgo.NewHandle(row)
	defer handle.Delete()
	return check(func() C.int {
		return C.memtracer_go_query(r.r, text, bound, C.uint32_t(len(params)),
			C.uintptr_t(handle))
	})
}

// bind puts the parameters into memory of C, which release frees.
func bind(params []any) (bound *C.tracer_value, release func(), err error) {
	var held []unsafe.Pointer
	release = func() {
		for _, p := range held {
			C.free(p)
		}
	}
	if len(params) == 0 {
		return nil, release, nil
	}
	bound = (*C.tracer_value)(C.calloc(C.size_t(len(params)), C.sizeof_tracer_value))
	held = append(held, unsafe.Pointer(bound))
	for i, v := range unsafe.Slice(bound, len(params)) {
		switch p := params[i].(type) {
		case nil:
		case int:
			v.kind, v.integer = ValueInteger, C.int64_t(p)
		case int64:
			v.kind, v.integer = ValueInteger, C.int64_t(p)
		case float64:
			v.kind, v.real = ValueReal, C.double(p)
		case string:
			v.kind, v.bytes, v.n_bytes = ValueText, C.CString(p), C.uint32_t(len(p))
			held = append(held, unsafe.Pointer(v.bytes))
		default:
			return nil, release, &Error{Code: EINVAL,
				Detail: fmt.Sprintf("parameter %d has type %T", i+1, p)}
		}
		unsafe.Slice(bound, len(params))[i] = v
	}
	return bound, release, nil
}

//export memtracerGoRow
func memtracerGoRow(user unsafe.Pointer, n C.uint32_t, names C.memtracer_go_names,
	values C.memtracer_go_values) C.int {
	cells := unsafe.Slice((*C.tracer_value)(values), int(n))
	row := make(Row, n)
	for i, name := range unsafe.Slice((**C.char)(names), int(n)) {
		row[C.GoString(name)] = value(&cells[i])
	}
	if !cgo.Handle(uintptr(user)).Value().(func(Row) bool)(row) {
		return 1
	}
	return 0
}

func value(v *C.tracer_value) any {
	switch v.kind {
	case ValueInteger:
		return int64(v.integer)
	case ValueReal:
		return float64(v.real)
	case ValueText:
		return C.GoStringN(v.bytes, C.int(v.n_bytes))
	case ValueBlob:
		return C.GoBytes(unsafe.Pointer(v.bytes), C.int(v.n_bytes))
	}
	return nil
}
