#!/usr/bin/env python3
"""Makes the traces and the goldens of this folder, from HTA's own samples and by HTA itself.

    python3 -m venv venv && venv/bin/pip install HolisticTraceAnalysis scipy
    git clone https://github.com/facebookresearch/HolisticTraceAnalysis hta
    venv/bin/python make.py --data hta/tests/data              # everything
    venv/bin/python make.py --data hta/tests/data --check      # fails if a golden would change

A sample is cut down before it is committed: every event with a duration stays, with the fields that HTA's TraceDiff reads;
flow events, shapes and call stacks go. That the cut trace gives the same table as the whole one is checked in every run.
"""

import argparse
import csv
import gzip
import io
import json
import os
import random
import re
import sys
import tempfile
from importlib.metadata import version

HERE = os.path.dirname(os.path.abspath(__file__))

# The name here, and the file among HTA's samples.
SAMPLES = {
    "control": "trace_diff/control/control.json.gz",
    "test": "trace_diff/test/test.json.gz",
    "base": "trace_compare/base/base.json.gz",
    "changed": "trace_compare/test/test.json.gz",
    "nanoseconds": "ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "stream_zero": "triton_example/triton_example.json.gz",
    "cpu_only": "cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
}

# The golden, control, test (with `+` a folder of several ranks), and the keyword arguments of compare_traces.
COMPARISONS = [
    ("sample", "control", "test", {}),
    ("sample_short", "control", "test", {"use_short_name": True}),
    ("sample_cpu", "control", "test", {"device_type": "CPU"}),
    ("sample_gpu", "control", "test", {"device_type": "GPU"}),
    ("sample_iterations", "control", "test", {"control_iteration": [1010, 1012], "test_iteration": 1011}),
    ("base_changed", "base", "changed", {"control_iteration": 1010, "test_iteration": 1010}),
    ("base_changed_cpu", "base", "changed", {"control_iteration": 1010, "test_iteration": 1010, "device_type": "CPU"}),
    ("base_itself", "base", "base", {"control_iteration": 1010, "test_iteration": 1010}),
    ("nanoseconds", "nanoseconds", "nanoseconds", {"test_iteration": 103}),
    ("nanoseconds_gpu", "nanoseconds", "control", {"device_type": "GPU", "use_short_name": True}),
    ("stream_zero", "stream_zero", "stream_zero", {}),
    ("cpu_only", "cpu_only", "nanoseconds", {}),
    ("pytorch", "../../pytorch/eager", "../../pytorch/folded", {}),
    ("random_whole", "random_whole", "random_fractions", {}),
    ("random_fractions", "random_fractions", "random_durations", {"control_iteration": [1, 2, 3], "test_iteration": [1, 2, 3]}),
    ("random_durations", "random_durations", "random_whole", {"device_type": "GPU", "test_iteration": [2, 3]}),
    ("random_short", "random_whole", "random_durations", {"device_type": "CPU", "use_short_name": True}),
    ("ranks", "nanoseconds+cpu_only", "test", {"control_rank": [0, 34], "control_iteration": [102, 551]}),
    ("second_rank", "nanoseconds+cpu_only", "test", {"control_rank": 34, "control_iteration": 551}),
]


# Traces with everything that HTA treats in a way of its own, drawn by chance: how their times are written.
RANDOM = {
    "random_whole": lambda ns: str(ns // 1000),
    "random_fractions": lambda ns: f"{ns // 1000}.{ns % 1000:03}",
    # Begins are whole, and some durations are not: eighths, whose sums are exact. Of other fractions the last bit of HTA's
    # sums depends on the order of a Python set, which is another in every run.
    "random_durations": lambda ns: str(ns // 1000) if ns % 3 else f"{ns // 1000}.{ns % 1000 // 125 * 125:03}",
}


class Number(float):
    """A number of JSON that keeps its digits: a double has too few for nanoseconds since 1970."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self


def plain(value):
    if isinstance(value, Number):
        return "\x01" + value.text + "\x01"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def dumps(value):
    text = json.dumps(plain(value), separators=(",", ":"))
    return re.sub(r'"\\u0001(.*?)\\u0001"', r"\1", text)


def cut(event):
    kept = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur") if key in event}
    args = event.get("args")
    if isinstance(args, dict) and "dur" in event:
        kept["args"] = {key: args[key] for key in ("stream", "correlation") if key in args}
    return kept


def cut_trace(source, target):
    """One event a line. Events without a duration stay in their place: HTA numbers the events, and a link to event 0 is
    none for it. Flow arrows are none of them, except that one without a duration has to be there (it makes pandas hold
    durations as floats)."""
    with gzip.open(source, "rt") as file:
        trace = json.load(file, parse_float=Number)
    events = [cut(event) for event in trace["traceEvents"] if event.get("ph") not in ("s", "f")]
    text = io.StringIO()
    text.write('{"schemaVersion": %d,\n' % trace.get("schemaVersion", 1))
    if "distributedInfo" in trace:
        info = {key: trace["distributedInfo"][key] for key in ("backend", "rank", "world_size") if key in trace["distributedInfo"]}
        text.write('"distributedInfo": %s,\n' % json.dumps(info))
    if "baseTimeNanoseconds" in trace:
        text.write('"baseTimeNanoseconds": %d,\n' % trace["baseTimeNanoseconds"])
    text.write('"traceEvents": [\n' + ",\n".join(dumps(event) for event in events) + "\n]}\n")
    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.getvalue().encode())


def random_trace(name, target):
    """Streams of all kinds, links that are missing, doubled, of number 0 or to event 0, steps that overlap and that stand on
    the GPU, names that need quotes. Links have numbers that need two bytes: HTA holds a column in as few bytes as its numbers
    need, and writes positions of events into that of the links."""
    number = RANDOM[name]
    chance = random.Random(name)
    names = ["aten::add", "void k<int, 4>(int*)", 'say "a, b"', "Memcpy HtoD (Pageable -> Device)", "Event Sync", "Context Sync", "f(x)->y", "é::ü"]
    events = []

    def event(cat, event_name, begin, duration, **args):
        begin = begin // 1000 if name == "random_durations" else number(begin)
        events.append(
            f'{{"ph": "X", "cat": "{cat}", "name": {json.dumps(event_name)}, "pid": 1, "tid": {args.get("stream", 1)}, '
            f'"ts": {begin}, "dur": {number(duration)}, "args": {json.dumps(args)}}}'
        )

    event("cuda_runtime", "cudaLaunchKernel", 1_000_500, 3_000, correlation=1001)
    for step in 1, 2, 3:
        event("user_annotation", f"ProfilerStep#{step}", 1_000_000 * step, 1_100_000)
    event("gpu_user_annotation", "ProfilerStep#2", 2_500_250, 700_000, stream=7)
    event("kernel", "linked to event 0", 1_010_000, 5_000, stream=7, correlation=1001)
    for _ in range(400):
        begin, duration = chance.randrange(900_000, 4_300_000), chance.choice([0, 1, 400, 999, 1_000, 30_500, 123_456])
        args = {}
        if chance.random() < 0.5:
            args["stream"] = chance.choice([-1, 0, 0, 7, 7, 20])
        if chance.random() < 0.7:
            args["correlation"] = chance.choice([-1, 0] + list(range(1002, 1060)))
        event(chance.choice(["cpu_op", "kernel", "cuda_runtime", "gpu_memcpy", "Trace"]), chance.choice(names), begin, duration, **args)
        if name != "random_whole" and chance.random() < 0.05:
            events.append('{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}}')
    text = '{"schemaVersion": 1,\n"distributedInfo": {"rank": 0},\n"traceEvents": [\n' + ",\n".join(events) + "\n]}\n"
    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode())


def labeled(paths, label, cache={}):
    from hta.trace_diff import LabeledTrace

    key = (*paths, label)
    if key not in cache:
        # HTA takes folders.
        with tempfile.TemporaryDirectory() as folder:
            for path in paths:
                os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
            cache[key] = LabeledTrace(label=label, trace_dir=folder)
    return cache[key]


def compared(control, test, options):
    from hta.trace_diff import DeviceType, TraceDiff

    options = dict(options)
    if "device_type" in options:
        options["device_type"] = DeviceType[options["device_type"]]
    table = TraceDiff.compare_traces(control, test, **options).to_csv()
    options.pop("use_short_name", None)
    return table, TraceDiff.ops_diff(control, test, **options)


def comparisons(path_of):
    """The text of every golden, by its file's name."""
    goldens = {}
    for name, control, test, options in COMPARISONS:
        pair = [labeled(list(map(path_of, names.split("+"))), label) for names, label in ((control, "Control"), (test, "Test"))]
        table, lists = compared(*pair, options)
        goldens[f"{name}.csv"] = table
        if "use_short_name" not in options:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            for change, names in lists.items():
                writer.writerows([change, name] for name in names)
            goldens[f"{name}.ops.csv"] = text.getvalue()
        print(f"{name}: {len(table.splitlines()) - 1} rows,", {change: len(names) for change, names in lists.items()})
    return goldens


def breakdown(path):
    """HTA's kernel breakdown, whose sums ours is compared with."""
    from hta.trace_analysis import TraceAnalysis

    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
        kinds, _ = TraceAnalysis(trace_dir=folder).get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
    return kinds.to_csv(index=False)


def welch():
    """Welch's test by scipy: two samples, the statistic, the p-value."""
    from scipy.stats import ttest_ind

    pairs = [
        ([10.0, 11.0, 12.0], [10.5, 11.5, 12.5]),
        ([10.0, 10.1, 9.9, 10.05], [8.0, 8.1, 7.95, 8.2, 8.05]),
        ([1.0, 2.0], [3.0, 5.0]),
        ([5.0, 5.0, 5.0], [5.0, 6.0, 7.0]),
        ([100.0, 140.0, 90.0, 110.0, 95.0, 105.0], [101.0, 99.0, 104.0]),
        ([1e6, 1e6 + 3, 1e6 - 3], [1e6 + 1, 1e6 + 4, 1e6 - 2]),
    ]
    rows = ["control,test,t,p"]
    for control, test in pairs:
        t, p = ttest_ind(test, control, equal_var=False)
        rows.append(f"{' '.join(map(repr, control))},{' '.join(map(repr, test))},{float(t)!r},{float(p)!r}")
    return "\n".join(rows) + "\n"


def write(name, text):
    with open(os.path.join(HERE, "goldens", name), "w") as file:
        file.write(text)


def would_change(name, text):
    with open(os.path.join(HERE, "goldens", name)) as file:
        return file.read() != text


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", required=True, help="the folder tests/data of HTA's repository")
    options.add_argument("--check", action="store_true", help="compare with the committed goldens instead of writing them")
    options.add_argument("--label", help="what to write for HTA's version where it runs from a checkout")
    options = options.parse_args()
    os.makedirs(os.path.join(HERE, "goldens"), exist_ok=True)
    os.makedirs(os.path.join(HERE, "traces"), exist_ok=True)

    def ours(name):
        return os.path.join(HERE, "traces", f"{name}.json.gz")

    if not options.check:
        for name, source in SAMPLES.items():
            cut_trace(os.path.join(options.data, source), ours(name))
        for name in RANDOM:
            random_trace(name, ours(name))
    goldens = comparisons(ours)
    whole = comparisons(lambda name: os.path.join(options.data, SAMPLES[name]) if name in SAMPLES else ours(name))
    if goldens != whole:
        sys.exit("the cut traces differ from the whole ones in " + str([name for name in goldens if goldens[name] != whole[name]]))
    goldens["sample.breakdown.csv"] = breakdown(ours("control"))
    goldens["welch.csv"] = welch()
    if options.check:
        changed = [name for name, text in goldens.items() if would_change(name, text)]
        sys.exit(f"these would change: {', '.join(changed)}" if changed else 0)
    for name, text in goldens.items():
        write(name, text)
    made_by = options.label or f"HolisticTraceAnalysis {version('HolisticTraceAnalysis')}"
    write("VERSIONS", f"{made_by}\npandas {version('pandas')}\nscipy {version('scipy')}\n")


if __name__ == "__main__":
    main()
