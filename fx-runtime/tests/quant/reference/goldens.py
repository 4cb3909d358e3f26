#!/usr/bin/env python3
"""What torch.ao.quantization computes on tensors and models that anyone can rebuild; README.md says what the files hold.

    python3 goldens.py [observers] [fake] [models]        needs torch==2.11.0 torchvision==0.26.0 numpy
"""
import copy, json, math, sys, warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import numpy as np
import torch
from torch.ao.quantization import fake_quantize as fq, observer as ob

GOLDEN, M64 = 0x9E3779B97F4A7C15, (1 << 64) - 1
HERE = Path(__file__).resolve().parent
SHAPES = [(7,), (3, 5), (64, 33), (1, 8, 6, 6), (4, 3, 9, 11), (16, 3, 3, 3), (2, 128, 65), (5, 1)]
CASES, CALIBRATION = 48, 8


def uniform(name, n):
    """n numbers in [0, 1): splitmix64 of a counter that starts at FNV-1a of the name."""
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = ((h ^ b) * 0x100000001B3) & M64
    with np.errstate(over="ignore"):
        z = np.uint64(h) + np.arange(n, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def exact(t):
    return [float(np.float32(v)) for v in t.detach().flatten().tolist()]


def batch(name, shape, amplitude, offset):
    u = uniform(name, int(np.prod(shape)))
    v = (2 * u - 1).astype(np.float32) * np.float32(amplitude) + np.float32(offset)
    return torch.from_numpy(v.astype(np.float32).reshape(shape))


def kinds(shape):
    a, s = torch.per_tensor_affine, torch.per_tensor_symmetric
    q, u = torch.qint8, torch.quint8
    ranges = [(u, a, False), (u, a, True), (u, s, False), (q, a, False), (q, s, False), (q, s, True)]
    out = [("MinMaxObserver", dict(dtype=d, qscheme=k, reduce_range=r)) for d, k, r in ranges]
    out += [("MinMaxObserver", dict(dtype=q, qscheme=s, quant_min=-127, quant_max=127, eps=2**-12))]
    out += [("MinMaxObserver", dict(dtype=u, qscheme=a, quant_min=0, quant_max=15))]
    out += [("MovingAverageMinMaxObserver", dict(dtype=u, qscheme=a, averaging_constant=c)) for c in (0.01, 0.5)]
    out += [("HistogramObserver", dict(dtype=u, qscheme=a, reduce_range=r)) for r in (False, True)]
    out += [("HistogramObserver", dict(dtype=q, qscheme=s))]
    if len(shape) > 1:
        pc, ps, pf = torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams
        for axis in (0, 1):
            out += [("PerChannelMinMaxObserver", dict(dtype=q, qscheme=ps, ch_axis=axis))]
            out += [("PerChannelMinMaxObserver", dict(dtype=u, qscheme=pc, ch_axis=axis))]
            out += [("MovingAveragePerChannelMinMaxObserver", dict(dtype=q, qscheme=ps, ch_axis=axis))]
        out += [("PerChannelMinMaxObserver", dict(dtype=d, qscheme=pf, ch_axis=0)) for d in (u, torch.quint4x2)]
    return out


def case(i):
    amplitude = float(np.float32(10.0 ** (3 * uniform(f"obs{i}.amplitude", 1)[0] - 2)))
    offset = float(np.float32((uniform(f"obs{i}.offset", 1)[0] - 0.5) * 2 * amplitude)) if i % 3 else 0.0
    return SHAPES[i % len(SHAPES)], amplitude, offset, 1 + i % 3


def named(args):
    return {k: v if isinstance(v, (int, float, bool)) else str(v).replace("torch.", "") for k, v in args.items()}


def observers():
    rows = []
    for i in range(CASES):
        shape, amplitude, offset, n = case(i)
        for cls, args in kinds(shape):
            o = getattr(ob, cls)(**args)
            for k in range(n):
                o(batch(f"obs{i}.{k}", shape, amplitude * (1 + 0.5 * k), offset))
            scale, zero = o.calculate_qparams()
            zero = exact(zero) if zero.is_floating_point() else zero.flatten().tolist()
            row = {"case": i, "observer": cls, "args": named(args), "shape": shape, "batches": n, "amplitude": amplitude}
            rows.append(row | {"growth": 0.5, "offset": offset, "scale": exact(scale), "zero_point": zero})
    write("observers.json", rows)


def fake():
    """For each class and shape: three forwards with a gradient, observers off before the third."""
    moving, channels = ob.MovingAverageMinMaxObserver, ob.MovingAveragePerChannelMinMaxObserver
    q, u = torch.qint8, torch.quint8
    tensor = dict(observer=moving, quant_min=0, quant_max=255, dtype=u, qscheme=torch.per_tensor_affine)
    narrow = tensor | dict(quant_min=0, quant_max=127)
    weight = dict(observer=channels, quant_min=-128, quant_max=127, dtype=q, qscheme=torch.per_channel_symmetric, ch_axis=0)
    symmetric = tensor | dict(quant_min=-127, quant_max=127, dtype=q, qscheme=torch.per_tensor_symmetric)
    fixed = ob.FixedQParamsObserver.with_args(scale=1 / 256, zero_point=0, dtype=u, quant_min=0, quant_max=255)
    classes = [(fq.FakeQuantize, a) for a in (tensor, narrow, weight, symmetric)]
    classes += [(fq.FusedMovingAvgObsFakeQuantize, a) for a in (tensor, narrow, weight)]
    rows = []
    for i, (cls, args) in enumerate(classes + [(fq.FixedQParamsFakeQuantize, dict(observer=fixed))]):
        for shape in ((3, 5), (4, 3, 2, 3)):
            m = cls(**args)
            steps = []
            for k in range(3):
                if k == 2 and cls is not fq.FixedQParamsFakeQuantize:
                    m.disable_observer()
                x = batch(f"fake{i}.{k}", shape, 1 + 0.5 * k, 0.25).requires_grad_()
                y = m(x)
                g = batch(f"grad{i}.{k}", shape, 1, 0)
                y.backward(g)
                # The buffers of the fused class are the kernel's, which rounds the last place otherwise.
                scale, zero = m.calculate_qparams()
                zero = torch.as_tensor(zero).flatten().tolist()
                steps.append({"y": exact(y), "grad": exact(x.grad), "scale": exact(torch.as_tensor(scale)), "zero_point": zero})
            shown = {k: v for k, v in args.items() if k != "observer"}
            rows.append({"index": i, "class": cls.__name__, "args": named(shown), "shape": shape, "steps": steps})
    write("fake_quantize.json", rows)


def load_weights(model):
    with torch.no_grad():
        for name, t in model.state_dict().items():
            if not t.is_floating_point():
                continue
            s = 2.0 * uniform(name, t.numel()) - 1.0
            if name.endswith("running_mean"):
                v = 0.1 * s
            elif name.endswith("running_var"):
                v = 1.0 + 0.5 * s
            elif t.dim() <= 1:
                v = 1.0 + 0.1 * s if name.endswith(".weight") else 0.1 * s
            else:
                v = s * math.sqrt(3.0 / float(np.prod(t.shape[1:])))
            t.copy_(torch.from_numpy(v.reshape(tuple(t.shape)).astype(np.float32)))
    return model.eval()


def picture(name):
    v = (2 * uniform(name, 3 * 224 * 224) - 1) * math.sqrt(3.0)
    return torch.from_numpy(v.astype(np.float32).reshape(1, 3, 224, 224))


def model(name):
    import torchvision
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.backend_config import get_onednn_backend_config
    from torch.ao.quantization.quantize_fx import convert_fx, convert_to_reference_fx, prepare_fx

    torch.backends.quantized.engine = "onednn"
    backend, x = get_onednn_backend_config(), picture("input")
    m = load_weights(getattr(torchvision.models, name)(weights=None))
    p = prepare_fx(copy.deepcopy(m), get_default_qconfig_mapping("onednn"), (x,), backend_config=backend)
    with torch.no_grad():
        for i in range(CALIBRATION):
            p(picture(f"calib{i}"))
        sites = []
        for n in p.graph.nodes:
            if n.op == "call_module" and "activation_post_process" in str(n.target):
                scale, zero = p.get_submodule(n.target).calculate_qparams()
                site = {"observer": str(n.target), "node": n.args[0].name, "target": n.args[0]._pretty_print_target(n.args[0].target)}
                sites.append(site | {"scale": exact(scale), "zero_point": zero.flatten().tolist()})
        r = convert_to_reference_fx(copy.deepcopy(p), backend_config=backend)
        q = convert_fx(p, backend_config=backend)
        weights = {}
        for n, sub in q.named_modules():
            if hasattr(sub, "weight") and callable(sub.weight) and sub.weight().is_quantized:
                kind = type(sub).__module__ + "." + type(sub).__name__
                weights[n] = {"kind": kind, "scales": exact(sub.weight().q_per_channel_scales().float())}
        y, z, f = q(x), r(x), m(x)
    sqnr = lambda y: (20 * torch.log10(f.norm() / (f - y).norm())).item()
    row = {"model": name, "sites": sites, "weights": weights, "output": exact(y.flatten()[:16]), "sqnr_db": sqnr(y)}
    return row | {"reference": exact(z), "reference_sqnr_db": sqnr(z)}


def models():
    """Convolutions are summed in another order on other CPUs: a site that differs from the file's gets an entry there."""
    file = HERE / "../../../../examples/zoo/reference/quantized.json"
    known = {m["model"]: m for m in json.loads(file.read_text())} if file.exists() else {}
    rows = []
    for name in ("resnet18", "mobilenet_v2"):
        new = model(name)
        old = known.get(name, new)
        for site, found in zip(old["sites"], new["sites"]):
            one = {"scale": found["scale"], "zero_point": found["zero_point"]}
            alike = [site, *site.get("elsewhere", [])]
            if all(one != {k: other[k] for k in one} for other in alike):
                site.setdefault("elsewhere", []).append(one)
        old |= {k: v for k, v in new.items() if k.startswith("reference")}
        rows.append(old)
    file.write_text(json.dumps(rows, indent=1) + "\n")


def write(name, rows):
    (HERE / name).write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
    print(name, len(rows))


if __name__ == "__main__":
    for made in sys.argv[1:] or ["observers", "fake", "models"]:
        {"observers": observers, "fake": fake, "models": models}[made]()
