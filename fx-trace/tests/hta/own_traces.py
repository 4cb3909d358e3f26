#!/usr/bin/env python3
"""Shows that HTA opens the traces that fx writes itself, and computes of them what fx computes.

    venv/bin/python own_traces.py                                  # venv as in make.py
    venv/bin/python own_traces.py eager.json.gz frozen.json.gz     # two traces of `cargo fx profile --trace` beside it

The example `kernels` writes a trace of kernels that overlap and prints fx's breakdown of it; it is compared with HTA's. Two
traces of models on a CPU have no kernels, so that HTA has no breakdown of them: its TraceDiff is compared with that of
`cargo fx diff --hta-compat`, row by row.
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile

import make


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def breakdown():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.json.gz")
        ours = run("cargo", "run", "-q", "-p", "fx-trace", "--example", "kernels", "--", path).splitlines()
        rows = list(csv.reader(io.StringIO(make.breakdown(path))))[1:]
    theirs = [f"{row[0]},{int(float(row[1]))}" for row in rows]
    if sorted(ours) != sorted(theirs):
        sys.exit("the breakdowns differ:\n" + "\n".join(ours) + "\n---\n" + "\n".join(theirs))
    print(f"breakdown: HTA says the same, {'; '.join(ours)}")


def diff(control, test):
    told = json.loads(run("cargo", "run", "-q", "-p", "cargo-fx", "--", "diff", control, test, "--hta-compat", "--json"))
    pair = make.labeled([control], "Control"), make.labeled([test], "Test")
    table, lists = make.compared(*pair, {})
    rows = list(csv.DictReader(io.StringIO(table)))
    ours = {row["name"]: row for row in told["rows"]}
    if len(rows) != len(ours):
        sys.exit(f"{len(ours)} names here, {len(rows)} there")
    for row in rows:
        name = row.pop("") if "" in row else row.pop("name")
        mine = ours[name]
        for label, side in ("Control", "control"), ("Test", "test"):
            for kind, key in ("counts", "counts"), ("total_duration", "total_duration"):
                there = float(row[f"{label}_{kind}"])
                if mine[side][key] != there:
                    sys.exit(f"{name}: {side} {key} is {mine[side][key]} here, {there} there")
    if {change: sorted(names) for change, names in lists.items()} != {
        change: sorted(names) for change, names in told["ops_diff"].items()
    }:
        sys.exit("the five lists differ")
    counts = {change: len(names) for change, names in lists.items()}
    print(f"diff: HTA says the same of {len(rows)} names, {counts}")


def main():
    breakdown()
    if len(sys.argv) == 3:
        diff(*sys.argv[1:])


if __name__ == "__main__":
    main()
