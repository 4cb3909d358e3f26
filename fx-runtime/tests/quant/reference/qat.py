#!/usr/bin/env python3
"""What torch's quantization-aware training and its dynamic linear layer compute; README.md says what the files hold.

    python3 qat.py [qat] [dynamic]        needs torch==2.11.0 numpy
"""
import sys
import torch
from torch import nn
from torch.nn import functional as F

from goldens import batch, exact, load_weights, uniform, write

STEPS, BATCH, LR, MOMENTUM = 12, 6, 0.05, 0.9
OBSERVERS_OFF, STATISTICS_FROZEN = 6, 9


class Net(nn.Module):
    """All that is fused: with and without a bias, a norm and an activation, convolutions and linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU()
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv3, self.relu3 = nn.Conv2d(4, 4, 1), nn.ReLU()
        self.fc1, self.bn3 = nn.Linear(64, 8), nn.BatchNorm1d(8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        x = self.relu1(self.bn1(self.conv1(x)))
        x = F.relu(x + self.bn2(self.conv2(x)))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(self.relu3(self.conv3(x)), 1)
        return self.fc2(torch.tanh(self.bn3(self.fc1(x))))


def parameters(fake):
    scale, zero = fake.calculate_qparams()
    row = {"scale": exact(torch.as_tensor(scale)), "zero_point": torch.as_tensor(zero).flatten().tolist()}
    return row | {"trained_scale": exact(fake.scale), "trained_zero_point": fake.zero_point.flatten().tolist()}


def state(net):
    """Parameters and statistics of the layers."""
    named = net.state_dict().items()
    return {n: exact(t) for n, t in named if t.is_floating_point() and "fake_quant" not in n and "post_process" not in n}


def train(engine, bits):
    from torch.ao.quantization import QConfig, QConfigMapping, get_default_qat_qconfig_mapping
    from torch.ao.quantization import fake_quantize as fq, observer as ob
    from torch.ao.quantization.quantize_fx import convert_to_reference_fx, prepare_qat_fx

    torch.backends.quantized.engine = engine
    mapping = get_default_qat_qconfig_mapping(engine)
    if bits == 4:
        act = fq.FusedMovingAvgObsFakeQuantize.with_args(observer=ob.MovingAverageMinMaxObserver, quant_min=0, quant_max=15, dtype=torch.quint8)
        weight = fq.FusedMovingAvgObsFakeQuantize.with_args(
            observer=ob.MovingAveragePerChannelMinMaxObserver, quant_min=-8, quant_max=7, dtype=torch.qint8, qscheme=torch.per_channel_symmetric
        )
        mapping.set_global(QConfig(activation=act, weight=weight))
    net = load_weights(Net()).train()
    p = prepare_qat_fx(net, mapping, (torch.zeros(2, 1, 8, 8),))
    optimizer = torch.optim.SGD(p.parameters(), lr=LR, momentum=MOMENTUM)
    losses, first, second = [], {}, {}
    for k in range(STEPS):
        if k == OBSERVERS_OFF:
            p.apply(fq.disable_observer)
        if k == STATISTICS_FROZEN:
            # torch's function of that name knows convolutions alone.
            for m in p.modules():
                if hasattr(m, "freeze_bn_stats"):
                    m.freeze_bn_stats()
        x = batch(f"qat.x{k}", (BATCH, 1, 8, 8), 1.5, 0.25)
        labels = torch.tensor([int(3 * u) for u in uniform(f"qat.y{k}", BATCH)])
        optimizer.zero_grad()
        loss = F.cross_entropy(p(x), labels)
        loss.backward()
        if k == 0:
            first = {n: exact(t.grad) for n, t in p.named_parameters()}
        optimizer.step()
        if k == 0:
            second = state(p)
        losses += exact(loss)
    trained = state(p)
    sites = []
    for n in p.graph.nodes:
        if n.op == "call_module" and "activation_post_process" in str(n.target):
            sites.append({"node": n.args[0].name} | parameters(p.get_submodule(n.target)))
    weights = {n + ".weight": parameters(m.weight_fake_quant) for n, m in p.named_modules() if hasattr(m, "weight_fake_quant")}
    x = batch("qat.eval", (BATCH, 1, 8, 8), 1.5, 0.25)
    with torch.no_grad():
        evaluated = p.eval()(x)
        # Of fewer bits a lowered module knows nothing; the reference form clamps to 8.
        reference = exact(convert_to_reference_fx(p)(x)) if bits == 8 else []
    row = {"engine": engine, "bits": bits, "losses": losses, "first_gradients": first, "first_state": second, "state": trained, "sites": sites}
    return row | {"weights": weights, "evaluated": exact(evaluated), "reference": reference}


def qat():
    write("qat.json", [train("fbgemm", 8), train("qnnpack", 8), train("fbgemm", 4)])


def dynamic():
    """Ties between two integers and odd zero points are among the inputs: there the engines round in two ways."""
    import torch.ao.nn.quantized.dynamic as nnqd
    from torch.ao.quantization import default_dynamic_qconfig, per_channel_dynamic_qconfig

    rows = []
    for engine in ("fbgemm", "qnnpack"):
        torch.backends.quantized.engine = engine
        for name, config in (("per_channel", per_channel_dynamic_qconfig), ("per_tensor", default_dynamic_qconfig)):
            for i, (rows_in, inputs, outputs) in enumerate([(5, 33, 10), (1, 64, 16), (3, 300, 7)]):
                layer = nn.Linear(inputs, outputs, bias=i != 1)
                with torch.no_grad():
                    layer.weight.copy_(batch(f"dynamic{i}.weight", (outputs, inputs), 0.3, 0.0))
                    if layer.bias is not None:
                        layer.bias.copy_(batch(f"dynamic{i}.bias", (outputs,), 0.5, 0.0))
                layer.qconfig = config
                q = nnqd.Linear.from_float(layer)
                x = batch(f"dynamic{i}.x", (rows_in, inputs), 2.0, 0.3)
                # Scale 1/2 and an odd zero point in 7 bits and in 8, and each value halfway between two integers.
                last = 127 if engine == "fbgemm" else 255
                ties = (torch.from_numpy((uniform(f"dynamic{i}.ties", rows_in * inputs) * (last - 1)).astype("int64")) - 31).float() * 0.5 + 0.25
                ties = ties.reshape(rows_in, inputs)
                ties[0, 0], ties[0, 1] = -15.5, (last - 31) / 2
                w = q.weight()
                row = {"engine": engine, "weights": name, "case": i, "shape": [rows_in, inputs, outputs]}
                scale = w.q_per_channel_scales().float() if name == "per_channel" else torch.tensor([w.q_scale()])
                row |= {"codes": w.int_repr().flatten().tolist(), "scale": exact(scale)}
                rows.append(row | {"y": exact(q(x)), "tie_y": exact(q(ties))})
    write("dynamic.json", rows)


if __name__ == "__main__":
    for made in sys.argv[1:] or ["qat", "dynamic"]:
        {"qat": qat, "dynamic": dynamic}[made]()
