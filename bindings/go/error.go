// SPDX-License-Identifier: MIT

package memtracer

/*
#include <memtracer/memtracer.h>
*/
import "C"

import "runtime"

// Error is a failed call. Compare it with errors.Is and the Err… values.
type Error struct {
	Code   int    // EINVAL and so on
	Detail string // one sentence that names the thing and the way out
}

// The errors by kind, for errors.Is.
var (
	ErrInvalid     = &Error{Code: EINVAL}
	ErrNoMemory    = &Error{Code: ENOMEM}
	ErrIO          = &Error{Code: EIO}
	ErrDatabase    = &Error{Code: EDB}
	ErrSchema      = &Error{Code: ESCHEMA}
	ErrUnsupported = &Error{Code: EUNSUPPORTED}
	ErrDenied      = &Error{Code: EDENIED}
	ErrState       = &Error{Code: ESTATE}
	ErrThread      = &Error{Code: ETHREAD}
	ErrLimit       = &Error{Code: ELIMIT}
	ErrVersion     = &Error{Code: EVERSION}
	ErrOverlap     = &Error{Code: EOVERLAP}
)

// Name is "TRACER_EINVAL" and so on.
func (e *Error) Name() string {
	name := C.tracer_error_name(C.int(e.Code))
	if name == nil {
		return "?"
	}
	return C.GoString(name)
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return "memtracer: " + C.GoString(C.tracer_strerror(C.int(e.Code)))
	}
	return "memtracer: " + e.Detail
}

// Is is true for errors of the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// check makes the call and words its failure. The detail belongs to the system's thread, which a
// goroutine may change between two calls of C.
func check(call func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if code := call(); code != 0 {
		return &Error{Code: int(code), Detail: C.GoString(C.tracer_last_error())}
	}
	return nil
}
