# SPDX-License-Identifier: MIT
"""memtracer: which kind of memory does this process hold, and when did it grow?

    import memtracer
    with memtracer.Tracer("app.db") as t:
        t.mark("cache filled")

    for step in memtracer.Recording("app.db").rows("SELECT * FROM punctuated_growth"):
        print(step)

The sampler is a native thread that never calls into Python; after os.fork() a Tracer is inert in
the child. The file is described in memtracer(7).
"""
import ctypes
import os
import sys
import threading
import tracemalloc

from . import constants
from ._library import COLUMNS, Options, Stats, Totals, TypeBytes, TYPE_CAPACITY, library
from .recording import Recording

__all__ = ["Tracer", "Counter", "Recording", "Error", "constants", "version"]

_STATES = {value: name[6:].lower() for name, value in vars(constants).items()
           if name.startswith("STATE_")}


class Error(Exception):
    """A failed call: `name` is TRACER_E…, `code` its number, the text names the thing."""

    def __init__(self, code):
        lib = library()
        self.code = code
        self.name = (lib.tracer_error_name(code) or b"?").decode()
        super().__init__(lib.tracer_last_error().decode("utf-8", "replace") or self.name)


def _check(code):
    if code:
        raise Error(code)


def version():
    """The version of the C library."""
    return library().tracer_version_string().decode()


def _words(text):
    return None if text is None else os.fsencode(text)


class Counter:
    """A counter of the program's own; the next sample stores what was set last."""

    def __init__(self, tracer, name, unit, description):
        self._tracer = tracer
        number = ctypes.c_uint32()
        _check(library().tracer_counter_add(tracer._t, _words(name), _words(unit),
                                            _words(description), ctypes.byref(number)))
        self.id = number.value

    def set(self, value):
        _check(library().tracer_counter_set(self._tracer._t, self.id, value))


class _Runtime:
    """What Python says of its own memory, set once an interval and at each mark and sample."""

    def __init__(self, tracer, interval_ms):
        self._blocks = tracer.add_counter("py_blocks", description="blocks of Python's allocator")
        self._traced = tracer.add_counter("py_traced", "bytes",
                                          "allocated by Python, as tracemalloc traces it")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(interval_ms / 1000,),
                                        name="memtracer-count", daemon=True)
        self.count()
        self._thread.start()

    def count(self):
        self._blocks.set(sys.getallocatedblocks())
        if tracemalloc.is_tracing():
            self._traced.set(tracemalloc.get_traced_memory()[0])

    def _watch(self, seconds):
        while not self._end.wait(seconds):
            try:
                self.count()
            except Error:  # recording has ended by itself
                return

    def stop(self):
        self._end.set()
        self._thread.join()
        try:
            self.count()
        except Error:
            pass


def _range(buffer):
    """Address and bytes of a writable buffer, or of a pair of both."""
    if isinstance(buffer, tuple):
        return buffer
    n = memoryview(buffer).nbytes
    return ctypes.addressof((ctypes.c_char * n).from_buffer(buffer)), n


class Tracer:
    """Records this process (or `pid`) into the file `path` until stop() or the end of `with`.

    interval_ms: between ticks, default 1000. label: names the run. flags: F_… of constants.
    runtime_counters: puts the number of Python's blocks, and what tracemalloc traces while it is
    started, beside the samples.
    """

    def __init__(self, path, *, interval_ms=0, commit_ms=0, budget_ns=0, max_file_bytes=0,
                 label=None, pid=0, flags=0, runtime_counters=False):
        self._t = ctypes.c_void_p()
        self._runtime = None
        self._names = {}
        options = Options(size=ctypes.sizeof(Options), flags=flags, interval_ms=interval_ms,
                          commit_ms=commit_ms, budget_ns=budget_ns,
                          max_file_bytes=max_file_bytes,
                          label=os.fsencode(label) if label else None, pid=pid)
        _check(library().tracer_start(os.fsencode(path), ctypes.byref(options),
                                      ctypes.byref(self._t)))
        if runtime_counters:
            self._runtime = _Runtime(self, interval_ms or 1000)

    def _count(self):
        if self._runtime:
            self._runtime.count()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        """Takes a last sample and closes the file. Stopping again does nothing."""
        runtime, self._runtime = self._runtime, None
        if runtime:
            runtime.stop()
        t, self._t = self._t, ctypes.c_void_p()
        _check(library().tracer_stop(t))

    def mark(self, label):
        """Notes that something happened now."""
        self._count()
        _check(library().tracer_mark(self._t, os.fsencode(label)))

    def sample(self):
        """Takes one full sample now."""
        self._count()
        _check(library().tracer_sample(self._t))

    def flush(self):
        _check(library().tracer_flush(self._t))

    def pause(self):
        _check(library().tracer_pause(self._t))

    def resume(self):
        _check(library().tracer_resume(self._t))

    def add_type(self, name, description=None):
        """Adds a memory type of the program's own, or finds the one of that name."""
        number = ctypes.c_uint32()
        _check(library().tracer_type_add(self._t, _words(name), _words(description),
                                         ctypes.byref(number)))
        self._names[number.value] = name
        return number.value

    def claim(self, buffer, type_id, label=None):
        """A writable buffer, or (address, bytes), belongs to the type from the next tick on."""
        _check(library().tracer_claim(self._t, *_range(buffer), type_id, _words(label)))

    def unclaim(self, buffer):
        _check(library().tracer_unclaim(self._t, *_range(buffer)))

    def add_counter(self, name, unit="count", description=None):
        """Adds a counter of the program's own, or finds the one of that name."""
        return Counter(self, name, unit, description)

    def last_problem(self):
        """The newest problem in one sentence, empty when there was none."""
        text = ctypes.create_string_buffer(512)
        _check(library().tracer_last_problem(self._t, text, len(text)))
        return text.value.decode("utf-8", "replace")

    def totals(self):
        """{type: {column: bytes or None}} of the newest sample."""
        rows = (TypeBytes * TYPE_CAPACITY)()
        totals = Totals(size=ctypes.sizeof(Totals), capacity=TYPE_CAPACITY, types=rows)
        _check(library().tracer_get_totals(self._t, ctypes.byref(totals)))
        result = {}
        for row in rows[:totals.n_types]:
            name = library().tracer_type_name(row.type)
            result[name.decode() if name else self._names.get(row.type, str(row.type))] = {
                c: getattr(row, c) if row.known >> i & 1 else None for i, c in enumerate(COLUMNS)}
        return result

    def stats(self):
        """What the tracer did and cost."""
        stats = Stats(size=ctypes.sizeof(Stats))
        _check(library().tracer_get_stats(self._t, ctypes.byref(stats)))
        result = {name: getattr(stats, name) for name, _ in Stats._fields_[2:]}
        result["state"] = _STATES.get(stats.state, str(stats.state))
        return result
