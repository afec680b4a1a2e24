# SPDX-License-Identifier: MIT
"""The C library through ctypes. It is searched for as: MEMTRACER_LIBRARY, then the system's."""
import ctypes
import ctypes.util
import os

from .constants import COLUMNS, TYPE_CAPACITY

__all__ = ["COLUMNS", "TYPE_CAPACITY", "library"]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("interval_ms", ctypes.c_uint32), ("commit_ms", ctypes.c_uint32),
                ("budget_ns", ctypes.c_uint64), ("max_file_bytes", ctypes.c_uint64),
                ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p),
                ("label", ctypes.c_char_p), ("pid", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32), ("stack_min_bytes", ctypes.c_uint64)]


class TypeBytes(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("known", ctypes.c_uint32)] + \
               [(c, ctypes.c_uint64) for c in COLUMNS]


class Totals(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("capacity", ctypes.c_uint32),
                ("n_types", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("t_ns", ctypes.c_int64), ("wall_ns", ctypes.c_int64),
                ("types", ctypes.POINTER(TypeBytes))]


class Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("state", ctypes.c_uint32)] + \
               [(c, ctypes.c_uint64) for c in
                ("n_ticks", "n_missed", "n_failed", "cost_wall_ns", "cost_cpu_ns",
                 "longest_tick_ns", "own_bytes", "file_bytes", "n_dropped")]


_SIGNATURES = {
    "tracer_start": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(Options),
                                    ctypes.POINTER(ctypes.c_void_p)]),
    "tracer_stop": (ctypes.c_int, [ctypes.c_void_p]),
    "tracer_sample": (ctypes.c_int, [ctypes.c_void_p]),
    "tracer_flush": (ctypes.c_int, [ctypes.c_void_p]),
    "tracer_pause": (ctypes.c_int, [ctypes.c_void_p]),
    "tracer_resume": (ctypes.c_int, [ctypes.c_void_p]),
    "tracer_mark": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]),
    "tracer_type_add": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
                                       ctypes.POINTER(ctypes.c_uint32)]),
    "tracer_claim": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                    ctypes.c_uint32, ctypes.c_char_p]),
    "tracer_unclaim": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
    "tracer_counter_add": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
                                          ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32)]),
    "tracer_counter_set": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64]),
    "tracer_last_problem": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]),
    "tracer_get_totals": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(Totals)]),
    "tracer_get_stats": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(Stats)]),
    "tracer_type_name": (ctypes.c_char_p, [ctypes.c_uint32]),
    "tracer_error_name": (ctypes.c_char_p, [ctypes.c_int]),
    "tracer_last_error": (ctypes.c_char_p, []),
    "tracer_query_sql": (ctypes.c_char_p, [ctypes.c_char_p]),
    "tracer_version_string": (ctypes.c_char_p, []),
}

_loaded = None


def library():
    """The loaded library; OSError with the way out when it is not found."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("MEMTRACER_LIBRARY") or ctypes.util.find_library("memtracer")
        if not path:
            raise OSError("libmemtracer is not installed; install it, or set MEMTRACER_LIBRARY "
                          "to the path of libmemtracer.so")
        lib = ctypes.CDLL(path)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        _loaded = lib
    return _loaded
