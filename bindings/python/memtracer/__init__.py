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
import weakref

from . import constants
from ._library import COLUMNS, Options, Stats, Totals, TypeBytes, TYPE_CAPACITY, library
from .recording import Recording

__all__ = ["Tracer", "Counter", "Recording", "Error", "constants", "version"]

_STATES = {value: name[6:].lower() for name, value in vars(constants).items()
           if name.startswith("STATE_")}


class Error(Exception):
    """A failed call: `name` is TRACER_E…, `code` its number, the text names the thing."""

    def __init__(self, code, detail=None):
        lib = library()
        self.code = code
        self.name = (lib.tracer_error_name(code) or b"?").decode()
        super().__init__(detail or lib.tracer_last_error().decode("utf-8", "replace") or self.name)


def _check(code):
    if code:
        raise Error(code)


def version():
    """The version of the C library."""
    return library().tracer_version_string().decode()


def _whole(words):
    """C reads up to the first NUL."""
    if words and b"\0" in words:
        raise Error(constants.EINVAL, "the text has a NUL inside: %r" % words)
    return words


def _words(text):
    """UTF-8, or the bytes that a Recording could not read as such."""
    if not isinstance(text, (str, bytes, type(None))):
        raise TypeError("expected str or bytes, not " + type(text).__name__)
    return _whole(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)


class _Handle:
    """What C knows the tracer by. It is shared with counters and with what stops the tracer when
    nobody holds it any more."""

    def __init__(self):
        self.t = ctypes.c_void_p()
        self.runtime = None

    def call(self, verb, *arguments):
        if not self.t:
            raise Error(constants.ESTATE, "the tracer is stopped")
        _check(getattr(library(), "tracer_" + verb)(self.t, *arguments))

    def count(self):
        if self.runtime:
            self.runtime.count()

    def stop(self):
        runtime, self.runtime = self.runtime, None
        if runtime:
            runtime.stop()
        t, self.t = self.t, ctypes.c_void_p()
        _check(library().tracer_stop(t))

    def forget(self):
        try:
            self.stop()
        except Error:  # nobody is there to be told
            pass


class Counter:
    """A counter of the program's own; the next sample stores what was set last."""

    def __init__(self, tracer, name, unit, description):
        self._handle = tracer._handle
        number = ctypes.c_uint32()
        self._handle.call("counter_add", _words(name), _words(unit), _words(description),
                          ctypes.byref(number))
        self.id = number.value

    def set(self, value):
        self._handle.call("counter_set", self.id, value)


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
        if self._thread is not threading.current_thread():  # which may be the one that collects
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
    """Records this process (or `pid`) into the file `path` until stop(), the end of `with` or of
    the program, or until nobody holds it any more.

    interval_ms: between ticks, default 1000. label: names the run. flags: F_… of constants.
    stack_min_bytes: with F_STACKS, the least malloc() that counts; default 128 KiB.
    runtime_counters: puts the number of Python's blocks, and what tracemalloc traces while it is
    started, beside the samples.
    """

    def __init__(self, path, *, interval_ms=0, commit_ms=0, budget_ns=0, max_file_bytes=0,
                 label=None, pid=0, flags=0, stack_min_bytes=0, runtime_counters=False):
        self._handle = _Handle()
        self._names = {}
        for name, value in (("flags", flags), ("interval_ms", interval_ms),
                            ("commit_ms", commit_ms), ("pid", pid)):
            if not 0 <= value < 1 << 32:
                raise Error(constants.EINVAL, "%s is %d, which is out of range" % (name, value))
        options = Options(size=ctypes.sizeof(Options), flags=flags, interval_ms=interval_ms,
                          commit_ms=commit_ms, budget_ns=budget_ns,
                          max_file_bytes=max_file_bytes, label=_words(label) if label else None,
                          pid=pid, stack_min_bytes=stack_min_bytes)
        _check(library().tracer_start(_whole(os.fsencode(path)), ctypes.byref(options),
                                      ctypes.byref(self._handle.t)))
        weakref.finalize(self, self._handle.forget)
        if runtime_counters:
            self._handle.runtime = _Runtime(self, interval_ms or 1000)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        """Takes a last sample and closes the file. Stopping again does nothing."""
        self._handle.stop()

    def mark(self, label):
        """Notes that something happened now."""
        self._handle.count()
        self._handle.call("mark", _words(label))

    def sample(self):
        """Takes one full sample now."""
        self._handle.count()
        self._handle.call("sample")

    def flush(self):
        self._handle.call("flush")

    def pause(self):
        self._handle.call("pause")

    def resume(self):
        self._handle.call("resume")

    def add_type(self, name, description=None):
        """Adds a memory type of the program's own, or finds the one of that name."""
        number = ctypes.c_uint32()
        self._handle.call("type_add", _words(name), _words(description), ctypes.byref(number))
        self._names[number.value] = name
        return number.value

    def claim(self, buffer, type_id, label=None):
        """A writable buffer, or (address, bytes), belongs to the type from the next tick on."""
        self._handle.call("claim", *_range(buffer), type_id, _words(label))

    def unclaim(self, buffer):
        self._handle.call("unclaim", *_range(buffer))

    def add_counter(self, name, unit="count", description=None):
        """Adds a counter of the program's own, or finds the one of that name."""
        return Counter(self, name, unit, description)

    def last_problem(self):
        """The newest problem in one sentence, empty when there was none."""
        text = ctypes.create_string_buffer(512)
        self._handle.call("last_problem", text, len(text))
        return text.value.decode("utf-8", "replace")

    def totals(self):
        """{type: {column: bytes or None}} of the newest sample."""
        rows = (TypeBytes * TYPE_CAPACITY)()
        totals = Totals(size=ctypes.sizeof(Totals), capacity=TYPE_CAPACITY, types=rows)
        self._handle.call("get_totals", ctypes.byref(totals))
        result = {}
        for row in rows[:totals.n_types]:
            name = library().tracer_type_name(row.type)
            result[name.decode() if name else self._names.get(row.type, str(row.type))] = {
                c: getattr(row, c) if row.known >> i & 1 else None for i, c in enumerate(COLUMNS)}
        return result

    def stats(self):
        """What the tracer did and cost."""
        stats = Stats(size=ctypes.sizeof(Stats))
        self._handle.call("get_stats", ctypes.byref(stats))
        result = {name: getattr(stats, name) for name, _ in Stats._fields_[2:]}
        result["state"] = _STATES.get(stats.state, str(stats.state))
        return result
