"""What a PyTorch user would run instead, one rival a process, in the words of fx-bench's protocol.

    python3 rivals.py --rival compile --model resnet18 --batch 1 --dtype f32 --device cpu
    <- "ready {json}"     once the rival is made; the first call, which may compile, is still to come
    -> "run N"   <- "[ms, ms, ...]"      one untimed call, then N timed ones, each synchronised
    -> "check"   <- "[v0, ..., v7]"      first 8 values of the output, as f32
    -> "quit"

Weights and inputs follow the rule at the top of examples/resnet18/src/weights.rs, so that all outputs agree.
`cargo xtask results` drives it. Needs torch and torchvision; transformers for BERT and GPT-2; onnx and onnxruntime for
`ort`.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import warnings

import numpy as np
import torch

KINDS = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
MODES = {"compile": "default", "compile-graphs": "reduce-overhead", "compile-autotune": "max-autotune"}
TOKENS = 128
SIDE = 224


def hashes(name, count):
    """SplitMix64 of FNV-1a of the name plus multiples of the golden ratio."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def signed(name, shape):
    """Uniform in [-1, 1), as f64."""
    units = (hashes(name, int(np.prod(shape, dtype=np.int64))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (2.0 * units - 1.0).reshape(shape)


def value(name, shape):
    """The weight of that name."""
    s = signed(name, shape)
    if name.endswith("running_mean"):
        s = 0.1 * s
    elif name.endswith("running_var"):
        s = 1.0 + 0.5 * s
    elif len(shape) <= 1:
        s = (1.0 if name.endswith(".weight") else 0.0) + 0.1 * s
    else:
        s = s * np.sqrt(3.0 / np.prod(shape[1:]))
    return torch.from_numpy(s.astype(np.float32))


def filled(module):
    """The module in evaluation mode, with the weights that its tensors' names stand for."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(value(name, tuple(tensor.shape)))
    return module.eval()


class Text(torch.nn.Module):
    """A model of transformers' as a function of token ids to one tensor."""

    def __init__(self, inner, output, options):
        super().__init__()
        self.inner, self.output, self.options = inner, output, options

    def forward(self, ids):
        return getattr(self.inner(input_ids=ids, **self.options), self.output)


def build(model, batch):
    """The model and its input, on the CPU in f32."""
    if model == "bert_base":
        from transformers import BertConfig, BertModel

        net, vocabulary = Text(filled(BertModel(BertConfig())), "last_hidden_state", {}), BertConfig().vocab_size
    elif model == "gpt2":
        from transformers import GPT2Config, GPT2LMHeadModel

        inner = filled(GPT2LMHeadModel(GPT2Config()))
        net, vocabulary = Text(inner, "logits", {"use_cache": False}), GPT2Config().vocab_size
    else:
        import torchvision

        shape = (batch, 3, SIDE, SIDE)
        image = (signed("input", shape) * np.sqrt(3.0)).astype(np.float32)
        return filled(getattr(torchvision.models, model)(weights=None)), torch.from_numpy(image)
    ids = (hashes("input_ids", batch * TOKENS) % np.uint64(vocabulary)).astype(np.int64)
    return net.eval(), torch.from_numpy(ids).reshape(batch, TOKENS)


def onnx_session(net, x):
    import onnxruntime

    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    try:
        torch.onnx.export(net, (x,), path, dynamo=False)
    except torch.onnx.errors.UnsupportedOperatorError:
        # The newer exporter knows more operators.
        torch.onnx.export(net, (x,), path, dynamo=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # Threads that spin while they wait would take the next contender's turn.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x.numpy()}
    return lambda: torch.from_numpy(session.run(None, feed)[0])


def graphed(net, x):
    """The eager model, recorded as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = net(x)

    def call():
        graph.replay()
        return out

    return call


def rival(name, net, x):
    """A function that runs the model once."""
    if name == "eager":
        return lambda: net(x)
    if name == "jit":
        traced = torch.jit.trace(net, x, check_trace=False)
        script = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
        return lambda: script(x)
    if name == "eager-graphs":
        return graphed(net, x)
    if name == "ort":
        return onnx_session(net, x)
    from torch._inductor import config

    config.freezing = True
    compiled = torch.compile(net, mode=MODES[name])
    return lambda: compiled(x)


def serve(call, synchronize, ready):
    def milliseconds():
        start = time.perf_counter()
        call()
        synchronize()
        return (time.perf_counter() - start) * 1e3

    def answer(text):
        print(text, flush=True)

    answer("ready " + json.dumps(ready))
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["run"]:
            milliseconds()
            answer(json.dumps([milliseconds() for _ in range(int(words[1]))]))
        elif words == ["check"]:
            answer(json.dumps(call().flatten()[:8].float().cpu().tolist()))
        elif words == ["quit"]:
            return
        else:
            sys.exit(f"unknown command `{line.strip()}`")


def versions(name):
    found = {"torch": torch.__version__, "python": sys.version.split()[0]}
    if name == "ort":
        import onnxruntime

        found["onnxruntime"] = onnxruntime.__version__
    return found


def main():
    names = ["eager", "eager-graphs", "jit", "ort", *MODES]
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rival", required=True, choices=names)
    args.add_argument("--model", required=True)
    args.add_argument("--batch", type=int, default=1)
    args.add_argument("--dtype", default="f32", choices=KINDS)
    args.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    args = args.parse_args()
    warnings.filterwarnings("ignore")
    # Whatever a library prints goes where it does not disturb the protocol.
    answers, sys.stdout = sys.stdout, sys.stderr
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode():
        net, x = build(args.model, args.batch)
        net = net.to(args.device).to(KINDS[args.dtype])
        x = x.to(args.device)
        x = x.to(KINDS[args.dtype]) if x.is_floating_point() else x
        start = time.perf_counter()
        call = rival(args.rival, net, x)
        ready = {
            "variant": args.rival,
            "model": args.model,
            "threads": torch.get_num_threads(),
            "freeze_ms": (time.perf_counter() - start) * 1e3,
            "versions": versions(args.rival),
        }
        sys.stdout = answers
        synchronize = torch.cuda.synchronize if args.device == "cuda" else lambda: None
        serve(call, synchronize, ready)


if __name__ == "__main__":
    main()
