#!/usr/bin/env python3
"""Shows that HTA reads what fx-trace writes as it reads the trace that this was made of.

    venv/bin/python round_trip.py            # the samples of this folder; venv as in make.py

Each sample is read and written by the example `rewrite`, and HTA's tables, kernel breakdown and temporal breakdown of both
files are compared as text.
"""

import os
import subprocess
import sys
import tempfile

import make

SAMPLES = ["base", "changed", "control", "test", "nanoseconds", "stream_zero", "cpu_only"]


def analyses(path):
    """What HTA says of a trace, or that it cannot."""
    from hta.trace_analysis import TraceAnalysis

    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
        analysis = TraceAnalysis(trace_dir=folder)
        texts = []
        for name, options in [
            ("get_gpu_kernel_breakdown", {"include_memory_kernels": True}),
            ("get_temporal_breakdown", {}),
            ("get_cuda_kernel_launch_stats", {}),
        ]:
            try:
                result = getattr(analysis, name)(visualize=False, **options)
                texts.append(f"{name}: {stable(result)}")
            except Exception as error:  # HTA's own: a trace without kernels has no breakdown.
                texts.append(f"{name}: {type(error).__name__}")
        return texts


def stable(result):
    """Tables as text, without the columns that number events, and numbers as floats: a column with a hole in it has these."""
    if isinstance(result, tuple):
        return "\n".join(map(stable, result))
    if isinstance(result, dict):
        return "\n".join(f"{key}: {stable(value)}" for key, value in result.items())
    numbers = result.select_dtypes("number").columns
    result = result.astype({column: float for column in numbers})
    return result.drop(columns=[column for column in result.columns if column.startswith("index")]).to_csv(index=False)


def main():
    here = make.HERE
    with tempfile.TemporaryDirectory() as folder:
        for name in SAMPLES:
            before = os.path.join(here, "traces", f"{name}.json.gz")
            after = os.path.join(folder, f"{name}.json.gz")
            subprocess.run(["cargo", "run", "-q", "--release", "-p", "fx-trace", "--example", "rewrite", before, after], check=True)
            tables = []
            for path in before, after:
                control = make.labeled([path], "Control")
                tables.append(make.compared(control, make.labeled([os.path.join(here, "traces", "control.json.gz")], "Test"), {}))
            if tables[0] != tables[1]:
                sys.exit(f"{name}: TraceDiff differs")
            told = analyses(before), analyses(after)
            if told[0] != told[1]:
                sys.exit(f"{name}: the analyses differ:\n" + "\n".join(told[0]) + "\n---\n" + "\n".join(told[1]))
            print(f"{name}: HTA says the same of both,", [line.split(":")[0] + ": " + str(len(line)) + " characters" for line in told[0]])


if __name__ == "__main__":
    main()
