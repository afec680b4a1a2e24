# SPDX-License-Identifier: MIT
"""Ways to ask about a series of a corpus: the command line, or the views alone.

A series is first imported (memtracer import); then `memtracer verdict --json` is asked, or the
views punctuated_growth and leak_suspects through Python's own sqlite3. No labels come in here.
"""
import json
import os
import sqlite3
import subprocess


def import_series(memtracer, corpus, series, folder):
    """The path of a file that holds the series."""
    path = os.path.join(folder, series["id"] + ".db")
    args = [memtracer, "import", "--csv", os.path.join(corpus, series["file"]), "-o", path,
            "--measure", series["measure"]]
    if series.get("limit_bytes"):
        args += ["--limit", str(series["limit_bytes"])]
    for option, lines in (("--markers", ["%d,%s" % tuple(m) for m in series["markers"]]),
                          ("--sessions", ["%d" % t for t in series["session_starts_ns"]])):
        if lines:
            name = os.path.join(folder, series["id"] + option[1:])
            with open(name, "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
            args += [option, name]
    subprocess.run(args, check=True)
    return path


def ask_cli(memtracer, path):
    """What `verdict --json` says, as the scorer wants it."""
    done = subprocess.run([memtracer, "verdict", path, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(done.stderr)
    said = json.loads(done.stdout)
    types = {t["type"]: t for t in said["types"]}
    chosen = types.get(said["type"], {})
    out = {"class": chosen.get("likely", "steady"), "type": said["type"],
           "steps": [[s["wall_ns"], s["bytes"]] for s in chosen.get("steps", [])],
           "types": {t: v["likely"] for t, v in types.items()}}
    if chosen.get("growing"):
        out["since_ns"] = chosen["onset_wall_ns"]
        out["rate_bytes_per_s"] = chosen["bytes_per_s"]
    if said.get("limit"):
        out["exhaustion_ns"] = said["limit"]["wall_ns"]
    if said.get("action"):
        out["action"] = said["action"]["mark"]
    return out


def ask_views(path):
    """What plain sqlite3 sees: steps are punctuated growth, other suspects are called linear."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    start = dict(db.execute("SELECT id, start_wall_ns FROM run"))
    suspects = db.execute("SELECT type, shape, sum(grew) AS g FROM leak_suspects GROUP BY type"
                          " ORDER BY g DESC").fetchall()
    out = {"class": "steady", "types": {t: "linear" for t, _, _ in suspects}}
    if suspects:
        out["type"] = suspects[0][0]
        rows = db.execute("SELECT run, t_s, bytes, mark FROM punctuated_growth WHERE type = ?",
                          (out["type"],)).fetchall()
        out["class"] = "punctuated" if rows else "linear"
        out["steps"] = [[start[run] + int(t * 1e9), b] for run, t, b, _ in rows]
    db.close()
    return out


def predict(memtracer, corpus, index, folder, engine):
    out = {}
    for series in index:
        path = import_series(memtracer, corpus, series, folder)
        out[series["id"]] = ask_views(path) if engine == "views" else ask_cli(memtracer, path)
        os.remove(path)
    return out
