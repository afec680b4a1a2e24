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

from ._library import COLUMNS, Options, Stats, Totals, TypeBytes, TYPE_CAPACITY, library
from .recording import Recording

__all__ = ["Tracer", "Recording", "Error", "version"]

_STATES = {1: "recording", 2: "paused", 3: "degraded", 4: "suspended", 5: "ended"}


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


class Tracer:
    """Records this process (or `pid`) into the file `path` until stop() or the end of `with`.

    interval_ms: between ticks, default 1000. label: names the run. flags: TRACER_F_… bits.
    """

    def __init__(self, path, *, interval_ms=0, commit_ms=0, budget_ns=0, max_file_bytes=0,
                 label=None, pid=0, flags=0):
        self._t = ctypes.c_void_p()
        options = Options(size=ctypes.sizeof(Options), flags=flags, interval_ms=interval_ms,
                          commit_ms=commit_ms, budget_ns=budget_ns,
                          max_file_bytes=max_file_bytes,
                          label=os.fsencode(label) if label else None, pid=pid)
        _check(library().tracer_start(os.fsencode(path), ctypes.byref(options),
                                      ctypes.byref(self._t)))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        """Takes a last sample and closes the file. Stopping again does nothing."""
        t, self._t = self._t, ctypes.c_void_p()
        _check(library().tracer_stop(t))

    def mark(self, label):
        """Notes that something happened now."""
        _check(library().tracer_mark(self._t, os.fsencode(label)))

    def sample(self):
        """Takes one full sample now."""
        _check(library().tracer_sample(self._t))

    def flush(self):
        _check(library().tracer_flush(self._t))

    def pause(self):
        _check(library().tracer_pause(self._t))

    def resume(self):
        _check(library().tracer_resume(self._t))

    def totals(self):
        """{type: {column: bytes or None}} of the newest sample."""
        rows = (TypeBytes * TYPE_CAPACITY)()
        totals = Totals(size=ctypes.sizeof(Totals), capacity=TYPE_CAPACITY, types=rows)
        _check(library().tracer_get_totals(self._t, ctypes.byref(totals)))
        result = {}
        for row in rows[:totals.n_types]:
            name = library().tracer_type_name(row.type)
            result[name.decode() if name else str(row.type)] = {
                c: getattr(row, c) if row.known >> i & 1 else None for i, c in enumerate(COLUMNS)}
        return result

    def stats(self):
        """What the tracer did and cost."""
        stats = Stats(size=ctypes.sizeof(Stats))
        _check(library().tracer_get_stats(self._t, ctypes.byref(stats)))
        result = {name: getattr(stats, name) for name, _ in Stats._fields_[2:]}
        result["state"] = _STATES.get(stats.state, str(stats.state))
        return result
