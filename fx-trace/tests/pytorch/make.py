#!/usr/bin/env python3
"""Makes the traces and goldens of this folder by PyTorch's own profiler, on the CPU.

    venv/bin/pip install torch && venv/bin/python make.py

The golden has what `key_averages` says of a trace's operators: how often each ran, and its own and its total time. PyTorch
computes these from its events in memory, and this crate from the file that PyTorch exports.
"""

import csv
import gzip
import os
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    conv, norm = torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16)
    eager = torch.nn.Sequential(conv, norm, torch.nn.ReLU()).eval()
    folded = torch.nn.Sequential(torch.nn.utils.fusion.fuse_conv_bn_eval(conv.eval(), norm), torch.nn.ReLU()).eval()
    for name, model in ("eager", eager), ("folded", folded):
        record(name, model)
    with open(os.path.join(HERE, "VERSION"), "w") as file:
        file.write(f"torch {torch.__version__}\n")


def record(name, model):
    xs = torch.randn(1, 3, 64, 64)
    finished = []
    with torch.no_grad(), profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=2, active=6),
        on_trace_ready=finished.append,
        record_shapes=True,
    ) as prof:
        for _ in range(9):
            with record_function("inference"):
                model(xs)
            prof.step()
    # The trace names its own path: one without folders.
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prof.export_chrome_trace(f"{name}.json")
        os.chdir(HERE)
        with open(os.path.join(folder, f"{name}.json"), "rb") as plain, open(f"{name}.json.gz", "wb") as raw:
            with gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
                packed.write(plain.read())
    with open(os.path.join(HERE, f"{name}.csv"), "w") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["name", "count", "self_cpu_time_us", "cpu_time_us"])
        for row in sorted(prof.key_averages(), key=lambda row: row.key):
            rows.writerow([row.key, row.count, row.self_cpu_time_total, row.cpu_time_total])


if __name__ == "__main__":
    main()
