#!/usr/bin/env python3
"""Writes the HLO files, contracts and suite files of the PLENA suites beside this script.

Parameters are f32 and lie in memory as MXFP8; the mathematics is that of the family, with the names x, w, gamma and
so on for its parameters, so that one contract serves all sizes of a family. The instances differ in spelling, the way
that real dumps do: see SPELLINGS. Rerun after a change and commit what it writes.
"""

import math
import pathlib
import re
import struct

FOLDER = pathlib.Path(__file__).resolve().parent
HEAD = 64  # features per head

ROWS = [(4, 64), (8, 128), (16, 128), (32, 256), (64, 256)]
MATRICES = [(4, 64, 64), (8, 128, 128), (16, 128, 256), (32, 256, 256), (64, 256, 512)]
FFNS = [(4, 64, 128), (8, 128, 256), (16, 128, 512), (32, 256, 512), (64, 256, 1024)]
SINGLE = [(32, 64), (64, 128), (64, 256), (128, 128), (128, 256)]
BLOCKS = [(32, 64, 1, 128), (64, 128, 2, 256), (64, 256, 4, 512), (128, 256, 4, 512), (128, 512, 8, 1024)]
# family -> (names of the sizes, sizes of C1..C5).
TABLE = {
    "silu": ("rows hidden", ROWS),
    "relu": ("rows hidden", ROWS),
    "gelu": ("rows hidden", ROWS),
    "softmax": ("rows hidden", ROWS),
    "layernorm": ("rows hidden", ROWS),
    "rmsnorm": ("rows hidden", ROWS),
    "gemv": ("M N", [(64, 512), (128, 512), (256, 512), (512, 512), (512, 1024)]),
    "gemm": ("M K N", MATRICES),
    "linear": ("n hin hout", MATRICES),
    "batchmatmul": ("b M K N", [(b, *m) for b, m in zip((2, 4, 8, 16, 32), MATRICES)]),
    "ffn": ("n h hi", FFNS),
    "swiglu": ("n h hi", FFNS),
    "scaleddotproduct": ("s h", SINGLE),
    "flashattention": ("s h", SINGLE),
    "mha": ("s h nh", [(32, 64, 1), (64, 128, 2), (64, 256, 4), (128, 256, 4), (128, 512, 8)]),
    "gqa": ("s h nh nkv", [(32, 128, 2, 1), (64, 256, 4, 2), (64, 512, 8, 4), (128, 512, 8, 4), (128, 512, 8, 2)]),
    "mqa": ("s h nh", [(32, 128, 2), (64, 256, 4), (64, 512, 8), (128, 512, 8), (128, 512, 8)]),
    "rope": ("s d", [(32, 64), (64, 128), (128, 64), (128, 128), (256, 128)]),
    "t5": ("s h nh hi", BLOCKS),
    "llama": ("s h nh hi", BLOCKS),
}
COMPOSITE = ["ffn", "swiglu", "flashattention", "mha", "gqa", "mqa"]
MAIN = ["gemm", "gemv", "rmsnorm", "silu", "rope", "ffn", "swiglu", "scaleddotproduct", "flashattention", "mha", "gqa",
        "mqa"]
DECODERS = ["t5", "llama"]
# Latencies in ns of what a user has without a search: the kernels of the machine's official compiler, run on its
# emulator with inputs loaded from HBM and outputs left in vector memory. The official flash attention is also its only
# scaled dot product.
MEASURED = {
    "silu": [78, 253, 474, 1810, 3540],
    "gelu": [83, 270, 507, 1939, 3797],
    "softmax": [1334],
    "layernorm": [191, 598, 1163, 4147, 8213],
    "rmsnorm": [142, 429, 826, 2834, 5588],
    "gemv": [9513, 18445, 37673, 77797, 154960],
    "gemm": [1448, 9703, 37384, 143238, 570044],
    "linear": [1460, 9751, 37576, 143622, 572636],
    "batchmatmul": [3171, 47066, 373287, 3015563],
    "swiglu": [7593, 55719, 218709, 851874, 3381084],
    "scaleddotproduct": [29584, 77481, 149584, 304971, 590527],
    "flashattention": [29584, 77481, 149584, 304971, 590527],
    "mha": [110061, 381200, 1317078, 2948789, 10473526],
    "gqa": [281279, 1023419, 3766076, 8161871, 7007619],
    "mqa": [281279, 878167, 2899874, 6434912, 6434912],
    "rope": [1238, 4038, 4273, 7893, 16743],
}
# Where there is none: published cycles of the compiler, else of the best published kernel.
PUBLISHED_COMPILER = {"ffn": [5480, 37864, 145332, 563297, 2224214]}
PUBLISHED_BEST = {"relu": [95, 269], "softmax": [117, 429, 862, 3293, 4998]}
BASELINES = [(MEASURED, "official compiler's kernel on the official emulator"),
             (PUBLISHED_COMPILER, "published cycles of the official compiler's kernel"),
             (PUBLISHED_BEST, "published cycles of the best known kernel")]


class Spelling:
    """How one configuration writes what every configuration computes."""

    def __init__(self, percent, layouts, typed=False, metadata=False, jax=False, calls=False, bf16_operands=False,
                 bf16_result=False, logistic=True, scale="scores"):
        self.percent = "%" if percent else ""
        self.layouts, self.typed, self.metadata = layouts, typed, metadata
        self.jax = jax  # size-1 dims kept through reshape and broadcast; one more maximum in softmax
        self.calls = calls  # activations as called computations
        self.bf16_operands, self.bf16_result = bf16_operands, bf16_result
        self.logistic = logistic  # else 1 / (1 + exp(-x))
        self.scale = scale  # attention: scores | divide | query


SPELLINGS = [
    Spelling(percent=False, layouts=False),
    Spelling(percent=True, layouts=True, metadata=True, jax=True, calls=True, bf16_operands=True),
    Spelling(percent=False, layouts=True, jax=True, calls=True, scale="divide"),
    Spelling(percent=True, layouts=True, typed=True, bf16_result=True, logistic=False, scale="query"),
    Spelling(percent=True, layouts=True, metadata=True, jax=True, scale="query"),
]


def as_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def shortest(value):
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if as_f32(float(text)) == as_f32(value):
            return text
    return repr(value)


class Value:
    def __init__(self, name, dtype, dims):
        self.name, self.dtype, self.dims = name, dtype, tuple(dims)


class Computation:
    """Collects the instructions of one computation."""

    def __init__(self, module, name):
        self.module, self.name = module, name
        self.lines, self.parameters = [], []

    def shape(self, value, layout=True):
        dims = ",".join(map(str, value.dims))
        text = f"{value.dtype}[{dims}]"
        if layout and self.module.spelling.layouts and value.dims:
            text += "{" + ",".join(str(d) for d in reversed(range(len(value.dims)))) + "}"
        return text

    def operand(self, value):
        spelling = self.module.spelling
        return (f"{self.shape(value)} " if spelling.typed else "") + spelling.percent + value.name

    def add(self, stem, dtype, dims, opcode, operands=(), attributes="", literal=None, name=None):
        module = self.module
        module.count += 1
        value = Value(name or f"{stem}.{module.count}", dtype, dims)
        inside = literal if literal is not None else ", ".join(self.operand(o) for o in operands)
        if attributes:
            attributes = ", " + attributes
        if module.spelling.metadata and opcode not in ("parameter", "constant"):
            attributes += (f', metadata={{op_name="jit({module.name})/{stem}" source_file="{module.name}.py" '
                           f'source_line={10 + module.count}}}')
        self.lines.append([value.name, f"{module.spelling.percent}{value.name} = {self.shape(value)} "
                                       f"{opcode}({inside}){attributes}"])
        return value

    def text(self, root, keyword=""):
        spelling = self.module.spelling
        header = f"{keyword}{spelling.percent}{self.name}"
        if spelling.percent:
            arguments = ", ".join(f"{p.name}: {self.shape(p, layout=False)}" for p in self.parameters)
            header += f" ({arguments}) -> {self.shape(root, layout=False)}"
        body = "".join(f"  {'ROOT ' if name == root.name else ''}{line}\n" for name, line in self.lines)
        return f"{header} {{\n{body}}}\n"

    # Parameters, constants and movement.
    def parameter(self, name, *dims, dtype="f32"):
        value = self.add(name, dtype, dims, "parameter", literal=str(len(self.parameters)), name=name)
        self.parameters.append(value)
        return value

    def constant(self, number, dtype="f32"):
        return self.add("constant", dtype, (), "constant", literal=shortest(number))

    def broadcast(self, value, dims, along):
        return self.add("broadcast", value.dtype, dims, "broadcast", [value],
                        f"dimensions={{{','.join(map(str, along))}}}")

    def splat(self, number, dims):
        return self.broadcast(self.constant(number), dims, ())

    def reshape(self, value, *dims):
        return value if dims == value.dims else self.add("reshape", value.dtype, dims, "reshape", [value])

    def transpose(self, value, *order):
        return self.add("transpose", value.dtype, [value.dims[d] for d in order], "transpose", [value],
                        f"dimensions={{{','.join(map(str, order))}}}")

    def slice(self, value, dim, start, limit):
        ranges = [(start, limit) if d == dim else (0, size) for d, size in enumerate(value.dims)]
        dims = [b - a for a, b in ranges]
        return self.add("slice", value.dtype, dims, "slice", [value],
                        "slice={" + ", ".join(f"[{a}:{b}]" for a, b in ranges) + "}")

    def concatenate(self, values, dim):
        dims = list(values[0].dims)
        dims[dim] = sum(v.dims[dim] for v in values)
        return self.add("concatenate", values[0].dtype, dims, "concatenate", values, f"dimensions={{{dim}}}")

    def convert(self, value, dtype):
        if value.dtype == dtype:
            return value
        return self.add("convert_element_type", dtype, value.dims, "convert", [value])

    # Arithmetic.
    def unary(self, opcode, value, stem=None):
        return self.add(stem or opcode, value.dtype, value.dims, opcode, [value])

    def binary(self, opcode, a, b, stem=None):
        return self.add(stem or opcode, a.dtype, a.dims, opcode, [a, b])

    def times(self, a, b):
        return self.binary("multiply", a, b, "mul")

    def reduce(self, kind, value):
        """Over the last dim."""
        start = self.constant({"add": 0.0, "maximum": -math.inf}[kind])
        attributes = f"dimensions={{{len(value.dims) - 1}}}, to_apply={self.module.reducer(kind)}"
        return self.add(f"reduce_{kind}", value.dtype, value.dims[:-1], "reduce", [value, start], attributes)

    def spread(self, value, dims):
        """A value per row over the last dim of `dims`."""
        rank = len(dims)
        if self.module.spelling.jax:
            kept = self.reshape(value, *value.dims, 1)
            kept = self.broadcast(kept, (*value.dims, 1), range(rank))
            value = self.reshape(kept, *value.dims)
        return self.broadcast(value, dims, range(rank - 1))

    def per_feature(self, value, dims):
        """A vector along the last dim of `dims`."""
        rank = len(dims)
        if self.module.spelling.jax:
            kept = self.reshape(value, *([1] * (rank - 1)), dims[-1])
            kept = self.broadcast(kept, kept.dims, range(rank))
            value = self.reshape(kept, dims[-1])
        return self.broadcast(value, dims, [rank - 1])

    def dot(self, a, b, contract=((1,), (0,)), batch=((), ())):
        spelling = self.module.spelling
        if spelling.bf16_operands:
            a, b = self.convert(a, "bf16"), self.convert(b, "bf16")
        free_a = [n for d, n in enumerate(a.dims) if d not in contract[0] and d not in batch[0]]
        free_b = [n for d, n in enumerate(b.dims) if d not in contract[1] and d not in batch[1]]
        dims = [a.dims[d] for d in batch[0]] + free_a + free_b
        parts = []
        if batch[0]:
            parts += [f"lhs_batch_dims={{{','.join(map(str, batch[0]))}}}"]
        parts += [f"lhs_contracting_dims={{{','.join(map(str, contract[0]))}}}"]
        if batch[1]:
            parts += [f"rhs_batch_dims={{{','.join(map(str, batch[1]))}}}"]
        parts += [f"rhs_contracting_dims={{{','.join(map(str, contract[1]))}}}"]
        return self.add("dot_general" if spelling.jax else "dot", "f32", dims, "dot", [a, b], ", ".join(parts))

    def called(self, name, build, value):
        """`build` as a computation of its own when the spelling has calls, else in place."""
        module = self.module
        if not module.spelling.calls:
            return build(self, value)
        module.count += 1
        callee = Computation(module, f"{name}.{module.count}")
        argument = callee.parameter(f"Arg_0.{module.count + 1}", *value.dims, dtype=value.dtype)
        result = build(callee, argument)
        module.computations.append(callee.text(result))
        return self.add(f"jit_{name}", result.dtype, result.dims, "call", [value],
                        f"to_apply={module.spelling.percent}{callee.name}")


class Module:
    def __init__(self, name, spelling):
        self.name, self.spelling = name, spelling
        self.computations, self.reducers, self.count = [], {}, 0
        self.entry = Computation(self, "main")

    def reducer(self, kind):
        if kind not in self.reducers:
            self.count += 1
            region = Computation(self, f"region_{len(self.reducers)}.{self.count}")
            a = region.parameter(f"Arg_0.{self.count + 1}")
            b = region.parameter(f"Arg_1.{self.count + 1}")
            self.computations.append(region.text(region.binary(kind, a, b)))
            self.reducers[kind] = region.name
        return self.spelling.percent + self.reducers[kind]

    def text(self, root):
        entry = self.entry
        if self.spelling.bf16_result:
            root = entry.convert(root, "bf16")
        header = f"HloModule {'jit_' if self.spelling.jax else ''}{self.name}"
        if self.spelling.layouts:
            parameters = ", ".join(entry.shape(p) for p in entry.parameters)
            header += f", entry_computation_layout={{({parameters})->{entry.shape(root)}}}"
        return header + "\n\n" + "".join(c + "\n" for c in self.computations) + entry.text(root, "ENTRY ")


# The families. Each takes the entry computation, and gives the result.
def silu_of(c, x):
    def build(c, x):
        if c.module.spelling.logistic:
            return c.times(x, c.unary("logistic", x))
        one = c.splat(1.0, x.dims)
        below = c.binary("add", one, c.unary("exponential", c.unary("negate", x)))
        return c.times(x, c.binary("divide", c.splat(1.0, x.dims), below))

    return c.called("silu", build, x)


def relu_of(c, x):
    return c.called("relu", lambda c, x: c.binary("maximum", x, c.splat(0.0, x.dims)), x)


def gelu_of(c, x):
    def build(c, x):
        inner = c.unary("erf", c.times(x, c.splat(math.sqrt(0.5), x.dims)))
        outer = c.binary("add", inner, c.splat(1.0, x.dims))
        return c.times(c.times(x, c.splat(0.5, x.dims)), outer)

    return c.called("gelu", build, x)


def softmax_of(c, x):
    top = c.reduce("maximum", x)
    if c.module.spelling.jax:
        top = c.binary("maximum", c.splat(-math.inf, top.dims), top)
    powers = c.unary("exponential", c.binary("subtract", x, c.spread(top, x.dims), "sub"), "exp")
    return c.binary("divide", powers, c.spread(c.reduce("add", powers), x.dims), "div")


def mean_of(c, x):
    """Per row, over the last dim."""
    total = c.reduce("add", x)
    size = x.dims[-1]
    if c.module.spelling.jax:
        return c.binary("divide", total, c.splat(size, total.dims), "div")
    return c.times(total, c.splat(1 / size, total.dims))


def square_of(c, x):
    if c.module.spelling.typed:
        return c.binary("power", x, c.splat(2.0, x.dims))
    return c.binary("multiply", x, x, "integer_pow")


def inverse_root_of(c, mean_square, epsilon):
    return c.unary("rsqrt", c.binary("add", mean_square, c.splat(epsilon, mean_square.dims)))


def rms_norm_of(c, x, gamma):
    factor = inverse_root_of(c, mean_of(c, square_of(c, x)), 1e-6)
    return c.times(c.times(x, c.spread(factor, x.dims)), c.per_feature(gamma, x.dims))


def layer_norm_of(c, x, gamma, beta):
    centred = c.binary("subtract", x, c.spread(mean_of(c, x), x.dims), "sub")
    factor = inverse_root_of(c, mean_of(c, square_of(c, centred)), 1e-5)
    scaled = c.times(c.times(centred, c.spread(factor, x.dims)), c.per_feature(gamma, x.dims))
    return c.binary("add", scaled, c.per_feature(beta, x.dims))


def rotate_half(c, x):
    last = len(x.dims) - 1
    half = x.dims[-1] // 2
    low, high = c.slice(x, last, 0, half), c.slice(x, last, half, 2 * half)
    return c.concatenate([c.unary("negate", high, "neg"), low], last)


def rope_of(c, x, cos, sin):
    """cos and sin as [positions, features]; x the same, or with heads between."""
    if len(x.dims) == 3:
        cos, sin = (c.broadcast(t, x.dims, (0, 2)) for t in (cos, sin))
    return c.binary("add", c.times(x, cos), c.times(rotate_half(c, x), sin))


def interleaved_rope_of(c, x, cos, sin):
    """cos and sin as [positions, features / 2]."""
    rows, size = x.dims
    pairs = c.reshape(x, rows, size // 2, 2)
    even = c.reshape(c.slice(pairs, 2, 0, 1), rows, size // 2)
    odd = c.reshape(c.slice(pairs, 2, 1, 2), rows, size // 2)
    first = c.binary("subtract", c.times(even, cos), c.times(odd, sin), "sub")
    second = c.binary("add", c.times(odd, cos), c.times(even, sin))
    both = [c.reshape(v, rows, size // 2, 1) for v in (first, second)]
    return c.reshape(c.concatenate(both, 2), rows, size)


def scaled(c, x, width, place):
    """The factor 1 / sqrt(width), at the place that the spelling says."""
    chosen = c.module.spelling.scale
    if place == "query":
        return c.times(x, c.splat(1 / math.sqrt(width), x.dims)) if chosen == "query" else x
    if chosen == "scores":
        return c.times(x, c.splat(1 / math.sqrt(width), x.dims))
    return c.binary("divide", x, c.splat(math.sqrt(width), x.dims), "div") if chosen == "divide" else x


def causal(c, scores, query_dim, key_dim):
    def positions(dim):
        return c.add("iota", "s32", scores.dims, "iota", (), f"iota_dimension={dim}")

    keep = c.add("le", "pred", scores.dims, "compare", [positions(key_dim), positions(query_dim)], "direction=LE")
    return c.add("select_n", "f32", scores.dims, "select", [keep, scores, c.splat(-math.inf, scores.dims)])


def single_attention(c, q, k, v):
    """q, k and v as [positions, features]."""
    q = scaled(c, q, q.dims[1], "query")
    if c.module.spelling.typed:
        scores = c.dot(q, c.transpose(k, 1, 0))
    else:
        scores = c.dot(q, k, ((1,), (1,)))
    return c.dot(softmax_of(c, scaled(c, scores, q.dims[1], "scores")), v)


def attention_of(c, q, k, v, mask=False):
    """q [s, heads, d]; k and v [t, kv heads, d]. Gives [s, heads * d]."""
    rows, heads, size = q.dims
    groups = heads // k.dims[1]
    spelling = c.module.spelling
    q = scaled(c, q, size, "query")
    if groups > 1 and k.dims[1] > 1 and spelling.scale == "divide":
        return grouped_attention(c, q, k, v, groups)
    if groups > 1 and k.dims[1] == 1 and spelling.scale != "divide":
        return shared_attention(c, q, k, v)
    if groups > 1:  # keys and values once per query head
        repeat = lambda t: c.reshape(c.broadcast(t, (t.dims[0], t.dims[1], groups, size), (0, 1, 3)), t.dims[0], heads,
                                     size)
        k, v = repeat(k), repeat(v)
    if spelling.typed or spelling.bf16_operands:  # heads first
        q, k, v = (c.transpose(t, 1, 0, 2) for t in (q, k, v))
        scores = c.dot(q, k, ((2,), (2,)), ((0,), (0,)))
        value_contract, value_batch = ((2,), (1,)), ((0,), (0,))
    else:
        scores = c.dot(q, k, ((2,), (2,)), ((1,), (1,)))
        value_contract, value_batch = ((2,), (0,)), ((0,), (1,))
    scores = scaled(c, scores, size, "scores")
    if mask:
        scores = causal(c, scores, 1, 2)
    result = c.dot(softmax_of(c, scores), v, value_contract, value_batch)
    return c.reshape(c.transpose(result, 1, 0, 2), rows, heads * size)


def grouped_attention(c, q, k, v, groups):
    """Query heads as [kv heads, groups]; keys and values are not repeated."""
    rows, heads, size = q.dims
    q = c.reshape(q, rows, heads // groups, groups, size)
    scores = c.dot(q, k, ((3,), (2,)), ((1,), (1,)))  # [kv heads, rows, groups, keys]
    result = c.dot(softmax_of(c, scaled(c, scores, size, "scores")), v, ((3,), (0,)), ((0,), (1,)))
    return c.reshape(c.transpose(result, 1, 0, 2, 3), rows, heads * size)


def shared_attention(c, q, k, v):
    """All query heads on the one head of keys and values."""
    rows, heads, size = q.dims
    k, v = c.reshape(k, k.dims[0], size), c.reshape(v, v.dims[0], size)
    scores = c.dot(q, k, ((2,), (1,)))  # [rows, heads, keys]
    result = c.dot(softmax_of(c, scaled(c, scores, size, "scores")), v, ((2,), (0,)))
    return c.reshape(result, rows, heads * size)


def attention_weights(c, hidden, heads, kv_heads, prefix=""):
    return [c.parameter(prefix + "wq", hidden, heads * HEAD), c.parameter(prefix + "wk", hidden, kv_heads * HEAD),
            c.parameter(prefix + "wv", hidden, kv_heads * HEAD), c.parameter(prefix + "wo", heads * HEAD, hidden)]


def attention_layer(c, x, memory, weights, tables=None, mask=False):
    """With its four projections; keys and values of `memory`."""
    wq, wk, wv, wo = weights
    q, k, v = c.dot(x, wq), c.dot(memory, wk), c.dot(memory, wv)
    q, k, v = (c.reshape(t, t.dims[0], t.dims[1] // HEAD, HEAD) for t in (q, k, v))
    if tables:
        q, k = rope_of(c, q, *tables), rope_of(c, k, *tables)
    return c.dot(attention_of(c, q, k, v, mask), wo)


def ffn_of(c, x, w1, w2):
    return c.dot(silu_of(c, c.dot(x, w1)), w2)


def swiglu_of(c, x, gate, up, down):
    return c.dot(c.times(silu_of(c, c.dot(x, gate)), c.dot(x, up)), down)


def rows_family(apply, *vectors):
    def build(c, rows, hidden):
        x = c.parameter("x", rows, hidden)
        return apply(c, x, *[c.parameter(v, hidden) for v in vectors])

    return build


def gemv(c, m, n):
    x, a = c.parameter("x", n), c.parameter("a", m, n)
    return c.dot(a, x)


def gemm(c, m, k, n):
    return c.dot(c.parameter("x", m, k), c.parameter("w", k, n))


def linear(c, n, width, out):
    x, w, b = c.parameter("x", n, width), c.parameter("w", width, out), c.parameter("b", out)
    return c.binary("add", c.dot(x, w), c.per_feature(b, (n, out)))


def batchmatmul(c, b, m, k, n):
    return c.dot(c.parameter("x", b, m, k), c.parameter("w", b, k, n), ((2,), (1,)), ((0,), (0,)))


def ffn(c, n, hidden, inner):
    return ffn_of(c, c.parameter("x", n, hidden), c.parameter("w1", hidden, inner), c.parameter("w2", inner, hidden))


def swiglu(c, n, hidden, inner):
    return swiglu_of(c, c.parameter("x", n, hidden), c.parameter("w_gate", hidden, inner),
                     c.parameter("w_up", hidden, inner), c.parameter("w_down", inner, hidden))


def attention(c, s, hidden):
    return single_attention(c, *[c.parameter(name, s, hidden) for name in "qkv"])


def heads_family(kv_heads=None, rotary=False, mask=False):
    def build(c, s, hidden, heads, kv=None):
        x = c.parameter("x", s, hidden)
        weights = attention_weights(c, hidden, heads, kv or kv_heads or heads)
        tables = [c.parameter(name, s, HEAD) for name in ("cos", "sin")] if rotary else None
        return attention_layer(c, x, x, weights, tables, mask)

    return build


def rope(c, s, d):
    return rope_of(c, c.parameter("x", s, d), c.parameter("cos", s, d), c.parameter("sin", s, d))


def interleaved_rope(c, s, d):
    return interleaved_rope_of(c, c.parameter("x", s, d), c.parameter("cos", s, d // 2), c.parameter("sin", s, d // 2))


def t5(c, s, hidden, heads, inner):
    x, memory = c.parameter("x", s, hidden), c.parameter("memory", s, hidden)
    gammas = [c.parameter(f"gamma{i}", hidden) for i in (1, 2, 3)]
    own = attention_weights(c, hidden, heads, heads, "self_")
    cross = attention_weights(c, hidden, heads, heads, "cross_")
    w1, w2 = c.parameter("w1", hidden, inner), c.parameter("w2", inner, hidden)
    normed = rms_norm_of(c, x, gammas[0])
    x = c.binary("add", x, attention_layer(c, normed, normed, own))
    x = c.binary("add", x, attention_layer(c, rms_norm_of(c, x, gammas[1]), memory, cross))
    return c.binary("add", x, ffn_of(c, rms_norm_of(c, x, gammas[2]), w1, w2))


def llama(c, s, hidden, heads, inner):
    x = c.parameter("x", s, hidden)
    gammas = [c.parameter(f"gamma{i}", hidden) for i in (1, 2)]
    weights = attention_weights(c, hidden, heads, heads)
    gate, up = c.parameter("w_gate", hidden, inner), c.parameter("w_up", hidden, inner)
    down = c.parameter("w_down", inner, hidden)
    normed = rms_norm_of(c, x, gammas[0])
    x = c.binary("add", x, attention_layer(c, normed, normed, weights))
    return c.binary("add", x, swiglu_of(c, rms_norm_of(c, x, gammas[1]), gate, up, down))


BUILD = {
    "silu": rows_family(silu_of), "relu": rows_family(relu_of), "gelu": rows_family(gelu_of),
    "softmax": rows_family(softmax_of), "layernorm": rows_family(layer_norm_of, "gamma", "beta"),
    "rmsnorm": rows_family(rms_norm_of, "gamma"), "gemv": gemv, "gemm": gemm, "linear": linear,
    "batchmatmul": batchmatmul, "ffn": ffn, "swiglu": swiglu, "scaleddotproduct": attention,
    "flashattention": attention, "mha": heads_family(), "gqa": heads_family(), "mqa": heads_family(kv_heads=1),
    "mha_causal": heads_family(rotary=True, mask=True), "rope": rope, "rope_interleaved": interleaved_rope, "t5": t5,
    "llama": llama,
}
# Shapes that fill no tile: (name, family, names of the sizes, sizes, spelling).
ODD = [
    ("gemm_odd", "gemm", "M K N", (1, 40, 100), 1),
    ("linear_odd", "linear", "n hin hout", (7, 72, 96), 3),
    ("softmax_odd", "softmax", "rows hidden", (7, 40), 3),
    ("layernorm_odd", "layernorm", "rows hidden", (5, 96), 5),
    ("attention_odd", "scaleddotproduct", "s h", (50, 64), 1),
    ("mha_odd", "mha", "s h nh", (50, 192, 3), 5),
    ("gqa_odd", "gqa", "s h nh nkv", (32, 384, 6, 2), 5),
    ("mha_causal", "mha_causal", "s h nh", (64, 128, 2), 3),
    ("rope_interleaved", "rope_interleaved", "s d", (64, 64), 1),
]


KV_FAMILIES = {"mha", "gqa", "mqa", "mha_causal", "t5", "llama"}
SHARED_CONTRACTS = {"rope_interleaved": "rope"}
ACCEPTANCE = """[acceptance]
kind = "tolerance"
absolute = 0.012
relative = 0.01
match_rate = 0.99
worst_factor = 8
"""


def generator(family, parameter):
    """How a parameter is made, when it is not the standard normal of activations and biases."""
    if parameter.startswith("gamma"):
        return 'distribution = "uniform"\nlow = 0.5\nhigh = 1.5\n'
    if parameter in ("cos", "sin"):
        return 'distribution = "uniform"\nlow = -1\nhigh = 1\n'
    if re.match(r"(self_|cross_)?w", parameter) or parameter == "a":
        dim = 1 if family in ("batchmatmul", "gemv") else 0
        return f'distribution = "normal"\nfan_in_dim = {dim}\n'
    return ""


def write_contract(family, parameters):
    inputs = "".join(f"[input.{p}]\n{text}\n" for p in parameters if (text := generator(family, p)))
    options = '[options]\nkv_storage = "mxfp8"\n\n' if family in KV_FAMILIES else ""
    (FOLDER / "plena" / f"{family}.toml").write_text(inputs + '[storage]\ndefault = "mxfp8"\n\n' + options + ACCEPTANCE)


def write_workload(name, family, sizes, config):
    module = Module(name, SPELLINGS[config - 1])
    root = BUILD[family](module.entry, *sizes)
    (FOLDER / "plena" / f"{name}.hlo").write_text(module.text(root))
    if family not in SHARED_CONTRACTS:
        write_contract(family, [p.name for p in module.entry.parameters])


def instance(name, family, config, names, sizes):
    contract = SHARED_CONTRACTS.get(family, family)
    params = ", ".join(f"{k} = {v}" for k, v in zip(names.split(), sizes))
    text = (f'\n[[instance]]\nname = "{name}"\nfamily = "{family}"\nconfig = "{config}"\nhlo = "plena/{name}.hlo"\n'
            f'contract = "plena/{contract}.toml"\nparams = {{ {params} }}\n')
    for table, source in BASELINES:
        latencies = table.get(family, [])
        if config[0] == "C" and int(config[1]) <= len(latencies):
            return text + f'baseline = {latencies[int(config[1]) - 1]}\nbaseline_source = "{source}"\n'
    return text


def suite(families, configs):
    return "".join(
        instance(f"{family}_c{c}", family, f"C{c}", TABLE[family][0], TABLE[family][1][c - 1])
        for family in families for c in configs)


def write_suite(name, comment, instances):
    (FOLDER / f"{name}.toml").write_text(f'# {comment}\nname = "{name}"\ntarget = "plena"\n{instances}')


if __name__ == "__main__":
    (FOLDER / "plena").mkdir(exist_ok=True)
    for family, (_, configurations) in TABLE.items():
        for config, sizes in enumerate(configurations, 1):
            write_workload(f"{family}_c{config}", family, sizes, config)
    for name, family, _, sizes, config in ODD:
        write_workload(name, family, sizes, config)
    write_suite("plena", "Twelve families of language models, in the sizes C1, C3 and C5.", suite(MAIN, (1, 3, 5)))
    write_suite("plena-composite", "The families of more than one stage.", suite(COMPOSITE, (1, 3, 5)))
    write_suite("plena-decoder", "Whole decoder blocks.", suite(DECODERS, (1, 3, 5)))
    rest = [family for family in TABLE if family not in MAIN + DECODERS]
    write_suite("plena-extra", "The other families and sizes, and shapes that fill no tile.",
                suite(rest, (1, 2, 3, 4, 5)) + suite(MAIN + DECODERS, (2, 4)) +
                "".join(instance(name, family, "odd", names, sizes) for name, family, names, sizes, _ in ODD))
