"""Writes what torch.fx and PyTorch's counter of operations say of the models of `examples/zoo`.

Made with torch 2.11.0, torchvision 0.26.0 and transformers 5.24.0 by `python zoo.py`. For each model `zoo_NAME.graph.txt` is `str(graph)` of
its symbolic trace, and `zoo_flops.json` holds what `torch.utils.flop_counter` counts on one image of 224 x 224, on one
text of 128 tokens for BERT and on one of 64 for GPT-2.

The models have the modules of torchvision's, and of transformers' those that torch.fx can trace: transformers' own
forwards assign to items of proxies and inspect code, which ends a trace. Forwards are written as in Rust: activations and
pools are functions, attention is written out, the mode is `False`.
"""

import json
import math
import pathlib

import torch
import torchvision
import transformers
from torch import fx, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from torchvision.models import resnet

HERE = pathlib.Path(__file__)


class Bottleneck(resnet.Bottleneck):
    def forward(self, xs):
        ys = self.bn1(self.conv1(xs)).relu()
        ys = self.bn2(self.conv2(ys)).relu()
        ys = self.bn3(self.conv3(ys))
        skip = xs if self.downsample is None else self.downsample(xs)
        return (ys + skip).relu()


class ResNet50(resnet.ResNet):
    def __init__(self):
        super().__init__(Bottleneck, [3, 4, 6, 3])

    def forward(self, xs):
        ys = self.bn1(self.conv1(xs)).relu()
        ys = functional.max_pool2d(ys, [3, 3], [2, 2], [1, 1], [1, 1], False)
        ys = self.layer4(self.layer3(self.layer2(self.layer1(ys))))
        ys = functional.adaptive_avg_pool2d(ys, [1, 1])
        return self.fc(ys.flatten(1))


class ConvBNReLU6(nn.Module):
    def __init__(self, source, to, kernel, stride, groups):
        super().__init__()
        conv = nn.Conv2d(source, to, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False)
        self.add_module("0", conv)
        self.add_module("1", nn.BatchNorm2d(to))

    def forward(self, xs):
        return getattr(self, "1")(getattr(self, "0")(xs)).clamp(0.0, 6.0)


class InvertedResidual(nn.Module):
    def __init__(self, source, to, stride, expand_ratio):
        super().__init__()
        hidden = source * expand_ratio
        layers = [ConvBNReLU6(source, hidden, 1, 1, 1)] if expand_ratio != 1 else []
        layers += [
            ConvBNReLU6(hidden, hidden, 3, stride, hidden),
            nn.Conv2d(hidden, to, 1, bias=False),
            nn.BatchNorm2d(to),
        ]
        self.conv = nn.Sequential(*layers)
        self.use_res_connect = stride == 1 and source == to

    def forward(self, xs):
        ys = self.conv(xs)
        return xs + ys if self.use_res_connect else ys


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, xs):
        return functional.dropout(xs, self.p, False)


SETTINGS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        source, features = 32, [ConvBNReLU6(3, 32, 3, 2, 1)]
        for expand_ratio, to, count, stride in SETTINGS:
            for index in range(count):
                features.append(InvertedResidual(source, to, stride if index == 0 else 1, expand_ratio))
                source = to
        self.features = nn.Sequential(*features, ConvBNReLU6(source, 1280, 1, 1, 1))
        self.classifier = nn.Sequential(Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, xs):
        return self.classifier(functional.adaptive_avg_pool2d(self.features(xs), [1, 1]).flatten(1, -1))


class MultiheadAttention(nn.Module):
    def __init__(self, hidden, num_heads):
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.empty(3 * hidden, hidden))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * hidden))
        self.out_proj = nn.Linear(hidden, hidden)
        self.num_heads = num_heads

    def forward(self, xs):
        batch, length, hidden = xs.size()
        head = hidden // self.num_heads
        qkv = functional.linear(xs, self.in_proj_weight, self.in_proj_bias)
        qkv = qkv.reshape([batch, length, 3, self.num_heads, head]).permute([2, 0, 3, 1, 4])
        q, k, v = qkv.select(0, 0), qkv.select(0, 1), qkv.select(0, 2)
        scores = q.matmul(k.transpose(-2, -1)) / head**0.5
        ys = scores.softmax(-1, scores.dtype).matmul(v)
        return self.out_proj(ys.transpose(1, 2).reshape([batch, length, hidden]))


class Gelu(nn.Module):
    def forward(self, xs):
        return functional.gelu(xs, approximate="none")


class EncoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(768, eps=1e-6)
        self.self_attention = MultiheadAttention(768, 12)
        self.ln_2 = nn.LayerNorm(768, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(768, 3072), Gelu(), Dropout(0.0), nn.Linear(3072, 768))

    def forward(self, xs):
        xs = xs + functional.dropout(self.self_attention(self.ln_1(xs)), 0.0, False)
        ys = self.mlp(self.ln_2(xs))
        return xs + ys


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, 197, 768))
        self.layers = nn.ModuleDict({f"encoder_layer_{i}": EncoderBlock() for i in range(12)})
        self.ln = nn.LayerNorm(768, eps=1e-6)

    def forward(self, xs):
        xs = functional.dropout(xs + self.pos_embedding, 0.0, False)
        for layer in self.layers.values():
            xs = layer(xs)
        return self.ln(xs)


class VitB16(nn.Module):
    def __init__(self):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, 768))
        self.conv_proj = nn.Conv2d(3, 768, 16, 16)
        self.encoder = Encoder()
        self.heads = nn.ModuleDict({"head": nn.Linear(768, 1000)})

    def forward(self, xs):
        batch = xs.size()[0]
        patches = self.conv_proj(xs).flatten(2, -1).transpose(1, 2)
        class_token = self.class_token.expand([batch, -1, -1])
        ys = self.encoder(torch.cat([class_token, patches], 1))
        return self.heads["head"](ys.select(1, 0))


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(30522, 768)
        self.position_embeddings = nn.Embedding(512, 768)
        self.token_type_embeddings = nn.Embedding(2, 768)
        self.LayerNorm = nn.LayerNorm(768, eps=1e-12)

    def forward(self, input_ids, token_type_ids):
        _batch, length = input_ids.size()
        positions = torch.arange(length, dtype=torch.int64, device=input_ids.device).unsqueeze(0)
        types = token_type_ids if token_type_ids is not None else torch.zeros_like(input_ids)
        xs = self.word_embeddings(input_ids) + self.token_type_embeddings(types) + self.position_embeddings(positions)
        return functional.dropout(self.LayerNorm(xs), 0.1, False)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(768, 768), nn.Linear(768, 768), nn.Linear(768, 768)
        self.num_attention_heads = 12

    def split_heads(self, xs):
        batch, length, hidden = xs.size()
        head = hidden // self.num_attention_heads
        return xs.view([batch, length, self.num_attention_heads, head]).transpose(1, 2)

    def forward(self, xs, mask):
        query = self.split_heads(self.query(xs))
        key = self.split_heads(self.key(xs))
        value = self.split_heads(self.value(xs))
        size = query.size()[3]
        scores = query.matmul(key.transpose(-1, -2)) / size**0.5
        if mask is not None:
            scores = scores + mask
        weights = functional.dropout(scores.softmax(-1, scores.dtype), 0.1, False)
        return weights.matmul(value).transpose(1, 2).contiguous().flatten(2, -1)


class Output(nn.Module):
    def __init__(self, source):
        super().__init__()
        self.dense = nn.Linear(source, 768)
        self.LayerNorm = nn.LayerNorm(768, eps=1e-12)

    def forward(self, xs, residual):
        xs = functional.dropout(self.dense(xs), 0.1, False)
        return self.LayerNorm(xs + residual)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module("self", SelfAttention())
        self.output = Output(768)


class BertLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(768, 3072)})
        self.output = Output(3072)

    def forward(self, xs, mask):
        attended = getattr(self.attention, "self")(xs, mask)
        xs = self.attention.output(attended, xs)
        wide = functional.gelu(self.intermediate["dense"](xs), approximate="none")
        return self.output(wide, xs)


class BertModel(nn.Module):
    """As it is called without a mask and without types, which decides two branches."""

    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList([BertLayer() for _ in range(12)])})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(768, 768)})

    def forward(self, input_ids):
        xs = self.embeddings(input_ids, None)
        for layer in self.encoder["layer"]:
            xs = layer(xs, None)
        pooled = self.pooler["dense"](xs.select(1, 0)).tanh()
        return xs, pooled


class Conv1D(nn.Module):
    def __init__(self, source, to):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(source, to))
        self.bias = nn.Parameter(torch.zeros(to))

    def forward(self, xs):
        return xs.matmul(self.weight) + self.bias


class Gpt2Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj, self.n_head = Conv1D(768, 3 * 768), Conv1D(768, 768), 12

    def split_heads(self, xs):
        batch, length, hidden = xs.size()
        return xs.view([batch, length, self.n_head, hidden // self.n_head]).transpose(1, 2)

    def forward(self, xs, future):
        qkv = self.c_attn(xs).split(768, 2)
        query, key, value = self.split_heads(qkv[0]), self.split_heads(qkv[1]), self.split_heads(qkv[2])
        size = query.size()[3]
        scores = query.matmul(key.transpose(-2, -1)) / size**0.5
        scores = scores.masked_fill(future, -math.inf)
        weights = functional.dropout(scores.softmax(-1, scores.dtype), 0.1, False)
        ys = weights.matmul(value).transpose(1, 2).contiguous().flatten(2, -1)
        return functional.dropout(self.c_proj(ys), 0.1, False)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(768, 3072), Conv1D(3072, 768)

    def forward(self, xs):
        return functional.dropout(self.c_proj(functional.gelu(self.c_fc(xs), approximate="tanh")), 0.1, False)


class Gpt2Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(768), Gpt2Attention(), nn.LayerNorm(768), Mlp()

    def forward(self, xs, future):
        xs = xs + self.attn(self.ln_1(xs), future)
        ys = self.mlp(self.ln_2(xs))
        return xs + ys


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.h = nn.ModuleList([Gpt2Block() for _ in range(12)])
        self.ln_f = nn.LayerNorm(768)


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = Transformer()
        self.lm_head = nn.Linear(768, 50257, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, input_ids):
        length = input_ids.size()[1]
        future = torch.ones([length, length], dtype=torch.bool, device=input_ids.device).triu(1)
        end = input_ids.size()[1]
        positions = torch.arange(0, end, dtype=torch.int64, device=input_ids.device).unsqueeze(0)
        xs = functional.dropout(self.transformer.wte(input_ids) + self.transformer.wpe(positions), 0.1, False)
        for block in self.transformer.h:
            xs = block(xs, future)
        return self.lm_head(self.transformer.ln_f(xs))


def flops(model, *inputs):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(*inputs)
    return counter.get_total_flops()


image = torch.zeros(1, 3, 224, 224)
ids = {"bert_base": torch.zeros(1, 128, dtype=torch.int64), "gpt2": torch.zeros(1, 64, dtype=torch.int64)}
models = {
    "resnet50": ResNet50(),
    "mobilenet_v2": MobileNetV2(),
    "vit_b_16": VitB16(),
    "bert_base": BertModel(),
    "gpt2": Gpt2(),
}
counted = {"resnet18": flops(torchvision.models.resnet18().eval(), image)}
for name, model in models.items():
    model.eval()
    graph = fx.symbolic_trace(model).graph
    HERE.with_name(f"zoo_{name}.graph.txt").write_text(f"{graph}\n")
    counted[name] = flops(model, ids.get(name, image))
# What is rewritten here counts as much as the models of the libraries. A fast path of torchvision's ViT, whose attention the
# counter does not see, has no such figure.
assert counted["resnet50"] == flops(torchvision.models.resnet50().eval(), image)
assert counted["mobilenet_v2"] == flops(torchvision.models.mobilenet_v2().eval(), image)
of_library = {
    "bert_base": transformers.BertModel(transformers.BertConfig(attn_implementation="eager")).eval(),
    "gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager")).eval(),
}
for name, model in of_library.items():
    assert counted[name] == flops(model, ids[name])
HERE.with_name("zoo_flops.json").write_text(json.dumps(counted, indent=2) + "\n")
