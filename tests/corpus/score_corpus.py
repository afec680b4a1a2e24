#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores the leak detector on a labelled corpus.

  score_corpus.py --corpus DIR [--judge PROGRAM] [--gate FILE] [--json OUT] [--worst N]
  score_corpus.py --generate SEED [--count N] …      a corpus by generate.py, thrown away after
  score_corpus.py --public …      the one in $MEMTRACER_CORPUS or ../shared/leakcorpus; exit 77
                                  (skipped) when there is none
  … --engine judge|cli|views [--memtracer PROGRAM] [--every K]

Judges every series (every K-th) of DIR/index.json, writes predictions.json (--predictions), and
scores it. Engines: the C code alone; the command line, import and verdict --json; the views of
an imported file, by SELECT alone. The scorer is DIR/score.py where the corpus brings its own, else the same
rules written here. Labels are read by the scorers only. Exit 1 when a bar of the gate
file is missed: {"metric": least} or {"metric": [">=" or "<=", bar]}.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile

import engines

LEAKS = ("punctuated", "linear", "exponential", "fragmentation")
CLASSES = LEAKS + ("steady", "sawtooth", "warmup", "jump", "diurnal")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build_judge(folder):
    """Compiles the judge with the detector and the few base files that it needs."""
    sources = [os.path.join(ROOT, "tests/corpus/judge.c")]
    for part in ("lib/read/verdict", "lib/base", "lib/base/os/posix"):
        path = os.path.join(ROOT, part)
        sources += [os.path.join(path, f) for f in sorted(os.listdir(path)) if f.endswith(".c")]
    out = os.path.join(folder, "judge")
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, "-O2", "-std=gnu11", "-I" + os.path.join(ROOT, "lib"),
                    "-I" + os.path.join(ROOT, "include"), "-w", "-o", out, *sources,
                    "-lm", "-lpthread", "-ldl"], check=True)
    return out


def orders(corpus, series):
    """The text form of one series that the judge reads."""
    lines = [f"series {series['id']}", f"file {os.path.join(corpus, series['file'])}",
             f"page {series['page_size']}", f"limit {series['limit_bytes'] or 0}"]
    lines += [f"session {t}" for t in series["session_starts_ns"]]
    lines += [f"marker {t} {label}" for t, label in series["markers"]]
    return "\n".join(lines + ["judge", ""])


def predict(judge, corpus, index):
    text = "".join(orders(corpus, s) for s in index)
    out = subprocess.run([judge], input=text, capture_output=True, text=True, check=True).stdout
    return {p.pop("id"): p for p in map(json.loads, out.splitlines())}


def rates(tp, fp, fn):
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def match_steps(true, said, tolerance):
    """One to one, the nearest pair first."""
    pairs = sorted((abs(p[0] - t["t_ns"]), i, j) for i, t in enumerate(true)
                   for j, p in enumerate(said) if abs(p[0] - t["t_ns"]) <= tolerance)
    left, right, out = set(), set(), []
    for distance, i, j in pairs:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
            out.append((i, j, distance))
    return out


def score_steps(label, said, dt, sums):
    steps = [(int(t), float(b)) for t, b in said.get("steps") or []]
    true = label["steps"]
    if said.get("class") not in LEAKS or said.get("type") not in label["leak_types"]:
        steps = []
    elif said["type"] != label["type"]:
        true = label["types"][said["type"]].get("steps", true)
    pairs = match_steps(true, steps, label["t_tol_ns"])
    sums["tp"] += len(pairs)
    sums["fp"] += len(steps) - len(pairs)
    sums["fn"] += len(true) - len(pairs)
    sums["time"] += [d / dt for _, _, d in pairs]
    sums["size"] += [abs(steps[j][1] / true[i]["bytes"] - 1) for i, j, _ in pairs]


def score(index, labels, predictions):
    metas = {s["id"]: s for s in index}
    confusion = {t: dict.fromkeys(CLASSES, 0) for t in CLASSES}
    leak = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    steps = {"tp": 0, "fp": 0, "fn": 0, "time": [], "size": []}
    typed, acted, wrong, quiet = [], [], [], []
    for key, label in labels.items():
        said = predictions.get(key) or {"class": "steady"}
        cls = said["class"]
        true = label["cls"]
        taken = true if cls == true or cls in label.get("also_ok", []) else cls
        confusion[true][taken] += 1
        if taken != true:
            wrong.append((key, true, cls, label))
        leaking = cls in LEAKS
        leak[("tp" if leaking else "fn") if label["leak"] else ("fp" if leaking else "tn")] += 1
        if label["leak"] and leaking:
            typed.append(said.get("type") in label["leak_types"])
        quiet += [said.get("types", {}).get(t) in LEAKS for t, c in label["types"].items()
                  if label.get("source") != "real" and c["cls"] not in LEAKS]
        if true == "punctuated":
            score_steps(label, said, metas[key]["dt_ns"], steps)
            if label.get("action"):
                acted.append(said.get("action") == label["action"])
    return summary(confusion, leak, steps, typed, acted, quiet), confusion, wrong


def summary(confusion, leak, steps, typed, acted, quiet):
    m = {"n": sum(sum(row.values()) for row in confusion.values())}
    m["leak_precision"], m["leak_recall"], m["leak_f1"] = rates(leak["tp"], leak["fp"], leak["fn"])
    m["false_alarm_rate"] = leak["fp"] / max(1, leak["fp"] + leak["tn"])
    f1 = []
    for c in CLASSES:
        tp = confusion[c][c]
        fp = sum(confusion[d][c] for d in CLASSES if d != c)
        fn = sum(confusion[c].values()) - tp
        m[f"f1_{c}"] = rates(tp, fp, fn)[2]
        if tp + fn:
            f1.append(m[f"f1_{c}"])
    m["macro_f1"] = sum(f1) / max(1, len(f1))
    m["type_accuracy"] = sum(typed) / max(1, len(typed))
    m["per_type_false_alarm"] = sum(quiet) / max(1, len(quiet))
    m["step_precision"], m["step_recall"], m["step_f1"] = rates(steps["tp"], steps["fp"],
                                                                steps["fn"])
    m["step_time_err_samples_p50"] = statistics.median(steps["time"] or [0])
    m["step_size_err_p50"] = statistics.median(steps["size"] or [0])
    m["action_accuracy"] = sum(acted) / max(1, len(acted))
    return m


def print_score(metrics, confusion, wrong, worst):
    for name, value in metrics.items():
        print(f"{name:28s} {value:.4f}" if isinstance(value, float) else f"{name:28s} {value}")
    print("\ntrue \\ said   " + " ".join(f"{c[:6]:>6s}" for c in CLASSES))
    for c in CLASSES:
        print(f"{c:13s} " + " ".join(f"{confusion[c][d] or '.':>6}" for d in CLASSES))
    for key, true, said, label in wrong[:worst]:
        print(f"{key} {true} said {said} n {label['n']} {label.get('tier')} "
              f"{','.join(label['nuisance'])} {label.get('sub') or label.get('program') or ''}")


def passes(metrics, gate):
    good = True
    for name, bar in gate.items():
        sign, least = bar if isinstance(bar, list) else (">=", bar)
        value = metrics.get(name, float("nan"))
        ok = value >= least if sign == ">=" else value <= least
        print(f"{'ok  ' if ok else 'MISS'} {name} {value:.4f} {sign} {least}")
        good = good and ok
    return good


def find_public(folder):
    """The public corpus, with its series unpacked; None when there is none."""
    places = (os.environ.get("MEMTRACER_CORPUS"),
              os.path.join(os.path.dirname(ROOT), "shared", "leakcorpus"))
    for place in places:
        if not place or not os.path.exists(os.path.join(place, "index.json")):
            continue
        if os.path.isdir(os.path.join(place, "series")):
            return place
        packed = os.path.join(place, "series.tar.xz")
        if os.path.exists(packed):
            out = os.path.join(folder, "corpus")
            with tarfile.open(packed) as tar:
                tar.extractall(out)
            for name in os.listdir(place):
                if name.endswith((".json", ".py")):
                    shutil.copy(os.path.join(place, name), out)
            return out
    return None


def find_corpus(args, folder):
    if args.public:
        corpus = find_public(folder)
        if corpus is None:
            print("skipped: no corpus in $MEMTRACER_CORPUS or ../shared/leakcorpus")
            sys.exit(77)
        return corpus
    if args.corpus:
        return args.corpus
    corpus = os.path.join(folder, "corpus")
    subprocess.run([sys.executable, os.path.join(ROOT, "tests/corpus/generate.py"), corpus,
                    "--seed", str(args.generate), "--count", str(args.count)], check=True)
    return corpus


def read_json(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return json.load(f)


def score_all(args, corpus, folder, index, predictions):
    """The metrics, by the corpus's own scorer where it has one and all series were judged."""
    path = args.predictions or os.path.join(folder, "predictions.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(predictions, f, indent=1)
    own = os.path.join(corpus, "score.py")
    if os.path.exists(own) and args.every == 1:
        out = args.json or os.path.join(folder, "metrics.json")
        subprocess.run([sys.executable, own, corpus, path, "--json", out,
                        "--worst", str(args.worst)], check=True)
        return read_json(out)
    labels = read_json(corpus, "labels.json")["series"]
    kept = {s["id"] for s in index}
    metrics, confusion, wrong = score(index, {k: v for k, v in labels.items() if k in kept},
                                      predictions)
    print_score(metrics, confusion, wrong, args.worst)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(metrics, f, indent=1)
    return metrics


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus")
    parser.add_argument("--generate", type=int, metavar="SEED")
    parser.add_argument("--public", action="store_true")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--engine", choices=("judge", "cli", "views"), default="judge")
    parser.add_argument("--judge")
    parser.add_argument("--memtracer", default="memtracer")
    parser.add_argument("--gate")
    parser.add_argument("--json")
    parser.add_argument("--predictions")
    parser.add_argument("--worst", type=int, default=20)
    args = parser.parse_args()
    if (args.corpus is None) + (args.generate is None) + (not args.public) != 2:
        parser.error("one of --corpus, --generate and --public")
    return args


def main():
    args = parse()
    with tempfile.TemporaryDirectory() as folder:
        corpus = find_corpus(args, folder)
        index = read_json(corpus, "index.json")["series"][::args.every]
        if args.engine == "judge":
            predictions = predict(args.judge or build_judge(folder), corpus, index)
        else:
            predictions = engines.predict(args.memtracer, corpus, index, folder, args.engine)
        metrics = score_all(args, corpus, folder, index, predictions)
    if args.gate and not passes(metrics, read_json(args.gate)):
        sys.exit(1)


if __name__ == "__main__":
    main()
