#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a labelled corpus of memory series from the definitions of the nine classes.

  generate.py DIR [--seed N] [--count N]

Written from the definitions alone, so that the detector is judged by more than one author's idea
of a leak: DIR gets index.json, labels.json and series/ID.csv. A series is a sum of what is kept
(the class), what comes and goes (the overlay), noise and pages, seen at irregular times.
"""
import argparse
import bisect
import json
import math
import os
import random

TYPES = ("heap", "private", "stack", "image", "mapped_file", "shareable")
LEAKS = ("punctuated", "linear", "exponential", "fragmentation")
MIX = (("punctuated", 30), ("linear", 16), ("exponential", 8), ("fragmentation", 8), ("steady", 16),
       ("sawtooth", 10), ("warmup", 12), ("jump", 7), ("diurnal", 7))
OVERLAY_SHARE = {"easy": (0, 0.12), "medium": (0.12, 0.6), "hard": (0.6, 3.0)}
NOISE_SHARE = {"easy": (0.002, 0.03), "medium": (0.03, 0.09), "hard": (0.09, 0.28)}
PAGE = 4096
KIB = 1024


def loguniform(r, low, high):
    return math.exp(r.uniform(math.log(low), math.log(high)))


class Times:
    """When the process was looked at: jitter, lost samples, one gap, perhaps a restart."""

    def __init__(self, r, nuisance):
        self.n = int(loguniform(r, 60, 5000)) if r.random() < 0.8 else r.randint(32, 60)
        self.dt = r.choice((0.05, 0.2, 1.0, 5.0, 30.0, 300.0))
        jitter = 0.3 if r.random() < 0.2 else 0.05
        lost = 0.03 if r.random() < 0.5 else 0.0
        gap = (r.uniform(0.1, 0.8), r.uniform(0.02, 0.06)) if r.random() < 0.1 else (2, 0)
        self.t = []
        for i in range(self.n):
            u = i / self.n
            if r.random() < lost or gap[0] < u < gap[0] + gap[1]:
                continue
            self.t.append((i + r.uniform(0, jitter)) * self.dt)
        nuisance += ["gap"] * (gap[1] > 0) + ["missing"] * (lost > 0)
        self.span = self.n * self.dt


# ---- what is kept ----

def staircase(r, times, first, last, count):
    """Times of `count` steps, never closer than a third of the usual interval."""
    gaps = [r.uniform(0.5, 1.5) if r.random() < 0.7 else max(0.35, r.expovariate(1.0))
            for _ in range(count - 1)]
    scale = (last - first) / sum(gaps) if gaps else 0
    out = [first]
    for g in gaps:
        out.append(out[-1] + g * scale)
    return [x * times.span for x in out]


def make_punctuated(r, times, base):
    most = max(3, min(40, len(times.t) // 12))
    count = r.randint(3, most) if r.random() < 0.5 else r.randint(3, min(12, most))
    first = r.uniform(0.25, 0.5) if r.random() < 0.3 else r.uniform(0.02, 0.12)
    last = 1 - (1 - first) / count * r.uniform(0.3, 0.9)
    size = max(64 * KIB, loguniform(r, 0.002, 0.15) * base)
    spread = r.choice((0.0, 0.05, 0.25))
    steps = [(t, max(64 * KIB, size * (1 + r.gauss(0, spread)))) if spread else (t, size)
             for t in staircase(r, times, first, last, count)]
    if r.random() < 0.15:
        steps = [(t, b * r.choice((1, 2.2))) for t, b in steps]
    return steps


def step_curve(steps):
    at = [t for t, _ in steps]
    sums = [0.0]
    for _, b in steps:
        sums.append(sums[-1] + b)
    return lambda t: sums[bisect.bisect_right(at, t)]


def kept_growth(r, cls, times, base, label):
    """A function of time, and the growth by the end."""
    span = times.span
    growth = max(256 * KIB, loguniform(r, 0.01, 1.2) * base)
    if cls == "linear":
        onset = r.uniform(0.2, 0.5) * span if r.random() < 0.3 else 0.0
        label["onset"] = onset
        pieces = r.choice((80, 200, 1000, 5000)) * len(label["starts"])
        marks = sorted(onset + r.random() * (span - onset) for _ in range(pieces))
        if r.random() < 0.15:
            half = onset + (span - onset) * r.uniform(0.35, 0.65)
            marks = sorted(m for m in marks if m > half or r.random() < 0.5)
        return lambda t: growth * bisect.bisect_right(marks, t) / len(marks), growth
    if cls == "exponential":
        folds = r.uniform(3.2, 6.5)
        top = math.exp(folds) - 1
        return lambda t: growth * (math.exp(folds * t / span) - 1) / top, growth
    if cls == "fragmentation":
        power = r.uniform(0.35, 0.55)
        waves = r.randint(25, 90)
        bounds = sorted(r.uniform(0, span) for _ in range(waves)) if r.random() < 0.5 else \
            [span * (i + r.uniform(-0.2, 0.2)) / waves for i in range(1, waves + 1)]
        label["waves"] = bounds

        def ratchet(t):
            k = bisect.bisect_right(bounds, t)
            return growth * ((bounds[k - 1] / span) ** power if k else 0.0)
        return ratchet, growth
    plateau = r.uniform(0.1, 0.45) * span
    kind = r.choice(("exp", "ramp", "root", "steps"))
    label["sub"] = kind
    if kind == "exp":
        return lambda t: growth * (1 - math.exp(-5 * t / plateau)), growth
    if kind == "ramp":
        return lambda t: growth * min(1.0, t / plateau), growth
    if kind == "root":
        return lambda t: growth * math.sqrt(min(1.0, t / plateau)), growth
    count = r.randint(3, 8)
    return step_curve([(plateau * (i + r.uniform(0.2, 0.8)) / count, growth / count)
                       for i in range(count)]), growth


# ---- what comes and goes ----

def make_collection(r, times, size, period, wander):
    cycles, t = [], -r.random() * period
    while t < times.span + period:
        cycles.append((t, r.uniform(0.7, 1.0), r.random() * wander))
        t += period * r.uniform(0.85, 1.15)
    at = [c[0] for c in cycles]

    def wave(t):
        k = bisect.bisect_right(at, t) - 1
        if k < 0 or k + 1 >= len(at):
            return 0.0
        u = (t - at[k]) / (at[k + 1] - at[k])
        return cycles[k][2] + size * cycles[k][1] * u
    return wave


def make_load(r, times, size, period, wander):
    """Requests that come in waves with rests between them."""
    waves, t = [], r.random() * period
    while t < times.span:
        waves.append((t, period * r.uniform(0.4, 0.85), size * r.uniform(0.4, 1.0)))
        t += period * r.uniform(0.9, 1.2)
    at = [x[0] for x in waves]
    rests = [r.random() * wander for _ in range(len(waves) + 1)]

    def wave(t):
        k = bisect.bisect_right(at, t) - 1
        rest = rests[k + 1]
        if k < 0 or t > at[k] + waves[k][1]:
            return rest
        u = (t - at[k]) / waves[k][1]
        return rest + waves[k][2] * math.sin(math.pi * u) ** 0.7
    return wave


def make_bursts(r, times, size):
    """Short and rare: together at most about a tenth of the time."""
    bursts = []
    t = 0.0
    many = max(1, min(r.randint(8, 25), times.n // 25))
    while t < times.span:
        t += r.expovariate(1.0) * times.span / many
        bursts.append((t, times.dt * r.uniform(1, 4), size * r.uniform(0.3, 1)))

    def wave(t):
        return sum(h for at, lasts, h in bursts if at <= t < at + lasts)
    return wave


def make_diurnal(r, times, size):
    cycles = r.uniform(2.1, 10)
    phase, second = r.random() * 6.28, r.uniform(0, 0.2)
    return lambda t: size * (0.5 + 0.5 * (math.sin(6.2832 * cycles * t / times.span + phase) + second
                             * math.sin(12.566 * cycles * t / times.span)) / (1 + second))


def make_still(r, cls, times, base, label):
    size = max(300 * KIB, loguniform(r, 0.02, 0.8) * base)
    dt, span = times.dt, times.span
    if cls == "jump":
        at = r.uniform(0.2, 0.8) * span
        return lambda t: size if t > at else 0.0, size
    if cls == "diurnal":
        return make_diurnal(r, times, size), size
    if cls == "sawtooth":
        label["sub"] = r.choice(("plain", "minor_major", "rising_peaks"))
        period = r.uniform(8 * dt, max(9 * dt, span / 6))
        major = make_collection(r, times, size, period, 0.02 * size)
        if label["sub"] == "minor_major":
            minor = make_collection(r, times, size * 0.3, max(4 * dt, period / 6), 0.0)
            return lambda t: major(t) + minor(t), size
        if label["sub"] == "rising_peaks":
            return lambda t: major(t) * (0.5 + 0.5 * t / span), size
        return major, size
    label["sub"] = kind = r.choice(("noise", "bursts", "sessions", "slow", "batch", "thp", "flat"))
    if kind == "bursts":
        return make_bursts(r, times, size), size
    if kind == "batch":
        period, lasts = r.uniform(0.05, 0.2) * span, r.uniform(0.2, 0.6)
        return lambda t: size if (t / period) % 1 < lasts else 0.0, size
    if kind == "sessions":
        people = [(r.uniform(-0.05, 1) * span, r.expovariate(1.0) * span / 25, size * r.uniform(
            0.05, 0.25)) for _ in range(120)]
        return lambda t: sum(h for at, lasts, h in people if at <= t < at + lasts), size
    if kind == "slow":
        value, points = 0.0, []
        for _ in range(120):
            points.append(value)
            value = 0.93 * value + r.gauss(0, 0.13 * size)
        return lambda t: points[min(119, int(120 * t / span))], size
    if kind == "thp":
        label["also"] = ["jump"]
        up, down = sorted((r.uniform(0.1, 0.9) * span, r.uniform(0.1, 1.5) * span))
        return lambda t: 2048.0 * KIB if up < t < down else 0.0, 2048 * KIB
    return lambda t: 0.0, 0


def overlay_for(r, times, tier, growth, step, label, nuisance):
    """What lies above a leak: its floors stay readable, as between two steps lie at least five
    cycles and the floor wanders by little."""
    share = loguniform(r, max(0.02, OVERLAY_SHARE[tier][0]), OVERLAY_SHARE[tier][1])
    unit = step["bytes"] if step else growth
    wander = (0.12 if step else 0.03) * unit * 0.7
    longest = step["interval"] / 5 if step else times.span / 15
    kind = r.choice(("gc", "load", "bursts", "none", "none"))
    if longest < 6 * times.dt and kind in ("gc", "load"):
        kind = "none"
    if kind == "none":
        return lambda t: 0.0, 1.0
    nuisance.append(kind)
    period = r.uniform(5 * times.dt, longest)
    label["cycle"] = period
    if kind == "gc":
        return make_collection(r, times, share * growth, period, wander), 0.15
    if kind == "load":
        return make_load(r, times, share * growth, period, wander), 0.15
    return make_bursts(r, times, share * growth), 0.3


# ---- a series ----

def quiet(r, times):
    base = loguniform(r, 64 * KIB, 3e8)
    sigma = r.choice((0.0, 0.0, 2e-4, 2e-3)) * base
    return lambda t: base + (r.gauss(0, sigma) if sigma else 0)


def restart_bounds(r, times, cls, nuisance):
    if cls not in ("punctuated", "linear") or len(times.t) < 400 or r.random() > 0.12:
        return [0.0]
    nuisance.append("restart")
    return [0.0, r.uniform(0.4, 0.6) * times.span]


def make_type(r, cls, times, tier, label, nuisance):
    """One type of class `cls`: the function of time, and its part of the label."""
    base = loguniform(r, 4e6, 1.5e9)
    starts = restart_bounds(r, times, cls, nuisance)
    label.update(starts=starts, base=base)
    if cls not in LEAKS and cls != "warmup":
        wave, size = make_still(r, cls, times, base, label)
        sigma = r.uniform(0.001, 0.06) * size if size else r.choice((0, 1e-3)) * base
        return lambda t: base + wave(t) + r.gauss(0, sigma)
    step = None
    if cls == "punctuated":
        steps = make_punctuated(r, times, base)
        at = [t for t, _ in steps]
        step = {"bytes": min(b for _, b in steps),
                "interval": min((b - a for a, b in zip(at, at[1:])), default=times.span)}
        kept, growth = step_curve(steps), sum(b for _, b in steps)
        label["steps"], label["onset"] = steps, at[0]
    else:
        kept, growth = kept_growth(r, cls, times, base, label)
    above, calm = overlay_for(r, times, tier, growth, step, label, nuisance)
    low, high = NOISE_SHARE[tier]
    unit = step["bytes"] if step else growth / 8
    sigma = r.uniform(low, high) * unit * calm
    if step and step["interval"] / times.dt < 10:
        sigma *= 0.4
    lost = {s: kept(s) for s in starts}
    label.update(growth=growth - lost[starts[-1]])

    def value(t):
        begin = starts[bisect.bisect_right(starts, t) - 1]
        return base + kept(t) - lost[begin] + above(t) + r.gauss(0, sigma)
    return value


def glitches(r, values, nuisance):
    if r.random() < 0.08 and len(values) > 60:
        nuisance.append("glitch")
        for _ in range(r.randint(1, 3)):
            values[r.randrange(2, len(values) - 2)] *= r.choice((0.0, 0.3, 0.7))


def make_markers(r, times, label):
    """The culprit just before every step, and decoys that come as often."""
    if not label.get("steps") or r.random() < 0.3:
        return [], None
    names = ["open", "save", "print", "login", "search"]
    r.shuffle(names)
    n = len(label["steps"])
    out = [(t - r.uniform(0, 0.9) * times.dt, names[0]) for t, _ in label["steps"]]
    if r.random() < 0.3:
        out += [(r.uniform(0, times.span), names[0]) for _ in range(n // 2)]
    for name in names[1:r.randint(2, 4)]:
        out += [(r.uniform(0, times.span), name) for _ in range(r.randint(n // 2 + 1, 2 * n))]
    return sorted(out), names[0]


def tolerance(times, label):
    t = max(3 * times.dt, 0.004 * times.span)
    return max(t, 1.5 * label.get("cycle", 0))


def make_series(r, cls):
    nuisance, label = [], {}
    times = Times(r, nuisance)
    tier = r.choice(("easy", "medium", "hard"))
    kind = r.choice(TYPES)
    values = {t: quiet(r, times) for t in TYPES}
    values[kind] = make_type(r, cls, times, tier, label, nuisance)
    columns = {}
    for name in TYPES:
        columns[name] = [values[name](t) for t in times.t]
    glitches(r, columns[kind], nuisance)
    for name in TYPES:
        columns[name] = [max(0, int(round(v / PAGE))) * PAGE for v in columns[name]]
    return times, kind, tier, label, columns, nuisance


def to_ns(t):
    return 1_700_000_000_000_000_000 + int(t * 1e9)


def describe(r, cls, made):
    times, kind, tier, label, columns, nuisance = made
    markers, action = make_markers(r, times, label)
    starts = label["starts"]
    steps = [{"t_ns": to_ns(t), "bytes": int(b)} for t, b in label.get("steps", [])]
    total = sum(columns[t][-1] for t in TYPES)
    index = {"n": len(times.t), "dt_ns": int(times.dt * 1e9), "measure": "resident",
             "page_size": PAGE, "limit_bytes": int(total * 1.5),
             "session_starts_ns": [to_ns(s) for s in starts],
             "markers": [[to_ns(t), name] for t, name in markers]}
    truth = {"cls": cls, "leak": cls in LEAKS, "type": kind, "also_ok": list(label.get("also", [])),
             "tier": tier, "nuisance": nuisance, "source": "synthetic", "n": len(times.t),
             "leak_types": [kind] if cls in LEAKS else [],
             "types": {t: {"cls": cls if t == kind else "steady"} for t in TYPES},
             "steps": steps, "t_tol_ns": int(tolerance(times, label) * 1e9),
             "onset_ns": to_ns(label.get("onset", 0.0)) if cls in LEAKS else None,
             "action": action, "sub": label.get("sub"), "footprint_bytes": int(label["base"]),
             "growth_pct": round(100 * label.get("growth", 0) / label["base"], 3)}
    if label.get("sub") == "sessions":
        truth["also_ok"] += ["sawtooth", "diurnal"]
    if label.get("sub") == "batch":
        truth["also_ok"] += ["sawtooth", "diurnal"]
    if label.get("sub") == "steps" and cls == "warmup":
        truth["also_ok"] += ["jump"]
    return index, truth


def write_csv(path, times, columns):
    with open(path, "w") as f:
        f.write("t_ns," + ",".join(TYPES) + "\n")
        for i, t in enumerate(times.t):
            f.write(f"{to_ns(t)}," + ",".join(str(columns[k][i]) for k in TYPES) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    args = parser.parse_args()
    os.makedirs(os.path.join(args.dir, "series"), exist_ok=True)
    names, weights = zip(*MIX)
    index, labels = [], {}
    for i in range(args.count):
        r = random.Random(args.seed * 1_000_003 + i)
        cls = r.choices(names, weights)[0]
        made = make_series(r, cls)
        key = f"g{i:04d}"
        meta, labels[key] = describe(r, cls, made)
        index.append({"id": key, "file": f"series/{key}.csv", **meta})
        write_csv(os.path.join(args.dir, index[-1]["file"]), made[0], made[4])
    with open(os.path.join(args.dir, "index.json"), "w") as f:
        json.dump({"version": 1, "types": list(TYPES), "series": index}, f)
    with open(os.path.join(args.dir, "labels.json"), "w") as f:
        json.dump({"version": 1, "seed": args.seed, "series": labels}, f)


if __name__ == "__main__":
    main()
