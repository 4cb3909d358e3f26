"""Writes the graphs beside it: what torch.fx says of the models that `tests` and `examples` declare in Rust.

Made with torch 2.11.0 and torchvision 0.26.0 by `python nodes.py` (with `tabulate`). For each model `NAME.graph.txt` is
`str(graph)`, and for those of `tables` `NAME.table.txt` is what `print_tabular` prints, of whose builtin functions the
addresses are left out.

`torchvision_resnet18` is torchvision's own model, `fuser_tutorial` that of the tutorial on fusing convolutions and batch
norms. The others are the examples with which torch.fx and its port to OneFlow are introduced: a parameter, a linear layer
and the largest sums; a tensor made in the forward; a wrapped function; an addition in three spellings.
"""

import contextlib
import io
import pathlib
import re

import torch
import torchvision
from torch import fx, nn

fx.wrap("len")


class WrappedBatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.mod = nn.BatchNorm2d(1)

    def forward(self, x):
        return self.mod(x)


class FuserTutorial(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 1, 1)
        self.bn1 = nn.BatchNorm2d(1)
        self.conv2 = nn.Conv2d(1, 1, 1)
        self.nested = nn.Sequential(nn.BatchNorm2d(1), nn.Conv2d(1, 1, 1))
        self.wrapped = WrappedBatchNorm()

    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.conv2(x)
        x = self.nested(x)
        x = self.wrapped(x)
        return x


class Largest(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return torch.topk(torch.sum(self.linear(x + self.linear.weight).relu(), dim=-1), 3)


class MadeInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 3)

    def forward(self, x):
        y = torch.ones([2, 3])
        x = self.linear(x)
        return (x + y).relu()


class Wrapped(nn.Module):
    def forward(self, x):
        return x * len(x)


class ThreeAdditions(nn.Module):
    def forward(self, x, y):
        return x + y, torch.add(x, y), x.add(y)


def table(graph):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        graph.print_tabular()
    short = re.sub(r"<(built-in (?:function|method) \w+)[^>]*>", r"<\1>", text.getvalue())
    # The columns are as wide as what is left of them.
    rows = [re.split(r"  +", line.strip()) for line in short.splitlines() if not line.startswith("---")]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


models = {
    "torchvision_resnet18": torchvision.models.resnet18(),
    "fuser_tutorial": FuserTutorial(),
    "largest": Largest(),
    "made_inside": MadeInside(),
    "wrapped": Wrapped(),
    "three_additions": ThreeAdditions(),
}
tables = ["torchvision_resnet18", "fuser_tutorial", "largest"]
for name, model in models.items():
    graph = fx.symbolic_trace(model.eval()).graph
    here = pathlib.Path(__file__)
    here.with_name(f"{name}.graph.txt").write_text(f"{graph}\n")
    if name in tables:
        here.with_name(f"{name}.table.txt").write_text(table(graph))
