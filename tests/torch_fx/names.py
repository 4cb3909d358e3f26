"""Writes `names.txt` beside it: what torch.fx calls nodes for which names are asked, one after the other, in one graph.

Made with torch 2.11.0 by `python names.py`. Each line is the name that was asked for and the one that was given.
"""

import pathlib
import random

from torch.fx.graph import _Namespace

ASKED = [
    *("relu", "relu_1", "relu_2", "relu_9", "relu_10", "add", "add_1", "x", "x_1", "x_1_1", "x_", "x_0", "features_0"),
    *("features_12", "layer1_0_conv1", "layer1_0", "sum", "sum_1", "sum_5", "max", "input", "input_1", "len", "a_01", "a"),
]

random.seed(7)
namespace = _Namespace()
asked = [random.choice(ASKED) for _ in range(400)]
lines = [f"{name} {namespace.create_name(name, None)}\n" for name in asked]
pathlib.Path(__file__).with_name("names.txt").write_text("".join(lines))
