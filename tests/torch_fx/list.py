"""Writes the listings beside it: what torch.fx's symbolic trace gives, one line a node, `opcode name target`.

Made with torch 2.11.0 and torchvision 0.26.0 by `python list.py`. `resnet18.txt` is torchvision's own model.
`resnet18_as_written.txt` is the same with the forward of examples/resnet18 (relu, pooling and flatten as operators, the
skip first).
"""

import pathlib

import torch
import torchvision
from torch import fx
from torch.nn import functional
from torchvision.models import resnet


class Block(resnet.BasicBlock):
    def forward(self, xs):
        skip = xs if self.downsample is None else self.downsample(xs)
        ys = self.bn1(self.conv1(xs)).relu()
        ys = self.bn2(self.conv2(ys))
        return (ys + skip).relu()


class AsWritten(resnet.ResNet):
    def __init__(self):
        super().__init__(Block, [2, 2, 2, 2])

    def forward(self, xs):
        ys = self.bn1(self.conv1(xs)).relu()
        ys = functional.max_pool2d(ys, 3, 2, 1)
        ys = self.layer4(self.layer3(self.layer2(self.layer1(ys))))
        ys = torch.flatten(functional.adaptive_avg_pool2d(ys, 1), 1, -1)
        return self.fc(ys)


def target(node):
    return node.target if isinstance(node.target, str) else node.target.__name__


models = {"resnet18": torchvision.models.resnet18(), "resnet18_as_written": AsWritten()}
for name, model in models.items():
    nodes = fx.symbolic_trace(model.eval()).graph.nodes
    lines = [f"{node.op} {node.name} {target(node)}\n" for node in nodes]
    pathlib.Path(__file__).with_name(f"{name}.txt").write_text("".join(lines))
