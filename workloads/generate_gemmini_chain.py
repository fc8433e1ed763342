#!/usr/bin/env python3
"""Writes the HLO files and the suite file of the int8 suite `gemmini-chain` beside this script: kernels of several
layers, and residual additions.

A layer is a dot of s8 operands accumulated in s32, perhaps an s32 bias and a relu, convert to f32, multiply by a
constant, round to nearest even, limit and convert to s8; its result is an operand of the next one. A residual
addition is the s32 sum of two s8 tensors, each perhaps scaled to s8 first, perhaps a relu, then to s8 as above.
Rerun after a change and commit what it writes.
"""

import dataclasses
import math
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
SUITE = "gemmini-chain"


@dataclasses.dataclass
class Chain:
    name: str
    rows: int
    widths: tuple
    bias: bool = False
    relu: bool = False
    scale: float = None  # None = by the depth of the contraction; a power of two suits small on-chip results
    family: str = "mlp"

    def params(self):
        values = {"rows": self.rows} | {f"w{i}": w for i, w in enumerate(self.widths)}
        return ", ".join(f"{k} = {v}" for k, v in values.items())


@dataclasses.dataclass
class Residual:
    name: str
    dims: tuple
    scales: tuple = (1, 1)  # of the operands
    scale: float = 1  # of the sum
    relu: bool = False
    family: str = "resadd"

    def params(self):
        return ", ".join(f"d{i} = {d}" for i, d in enumerate(self.dims))


CHAINS = [
    Chain("mlp_64_128_64", 16, (64, 128, 64)),
    Chain("mlp_256_256_256_64", 16, (256, 256, 256, 64), bias=True, relu=True),
    Chain("mlp_batch4", 4, (64, 128, 128, 32), bias=True, relu=True),
    Chain("ffn_128_512_128", 64, (128, 512, 128), relu=True),
    Chain("tiny_16_16_16", 32, (16, 16, 16), scale=2**-8),
    Chain("tiny_24_24_24_24", 16, (24, 24, 24, 24), relu=True, scale=2**-8),
]
RESIDUALS = [
    Residual("resadd_64x64", (64, 64)),
    Residual("resadd_56x56x64", (56, 56, 64), scale=0.5),
    Residual("resadd_7x7x512", (1, 7, 7, 512), relu=True),
    Residual("resadd_scaled", (14, 14, 96), scales=(0.5, 0.8125), scale=0.75, relu=True),
]


class Module:
    """Collects the instructions of the entry computation."""

    def __init__(self, name):
        self.name = name
        self.lines, self.parameters, self.count = [], [], 0

    @staticmethod
    def shape(dtype, dims):
        layout = "{" + ",".join(str(d) for d in reversed(range(len(dims)))) + "}" if dims else ""
        return f"{dtype}[{','.join(map(str, dims))}]{layout}"

    def add(self, stem, dtype, dims, operation):
        self.count += 1
        name = f"{stem}.{self.count}"
        self.lines.append(f"{name} = {self.shape(dtype, dims)} {operation}")
        return name

    def parameter(self, dtype, dims):
        self.parameters.append(self.shape(dtype, dims))
        return self.add(f"Arg_{len(self.parameters) - 1}", dtype, dims, f"parameter({len(self.parameters) - 1})")

    def splat(self, dtype, dims, value):
        scalar = self.add("constant", dtype, (), f"constant({value:.9g})")
        return self.add("broadcast", dtype, dims, f"broadcast({scalar}), dimensions={{}}")

    def quantize(self, x, dims, scale):
        x = self.add("convert", "f32", dims, f"convert({x})")
        if scale != 1:
            x = self.add("multiply", "f32", dims, f"multiply({x}, {self.splat('f32', dims, scale)})")
        x = self.add("round", "f32", dims, f"round-nearest-even({x})")
        low = self.add("constant", "f32", (), "constant(-128)")
        high = self.add("constant", "f32", (), "constant(127)")
        x = self.add("clamp", "f32", dims, f"clamp({low}, {x}, {high})")
        return self.add("convert", "s8", dims, f"convert({x})")

    def relu(self, x, dims):
        return self.add("maximum", "s32", dims, f"maximum({x}, {self.splat('s32', dims, 0)})")

    def text(self, result):
        self.lines[-1] = "ROOT " + self.lines[-1]
        body = "".join(f"  {line}\n" for line in self.lines)
        return (f"HloModule jit_{self.name}, entry_computation_layout={{({', '.join(self.parameters)})->"
                f"{self.shape('s8', result)}}}\n\nENTRY main.{self.count + 1} {{\n{body}}}\n")


def scale_for(depth):
    """Uniform s8 operands give sums of about 5461 * sqrt(depth); aim at a spread of 50."""
    return float(f"{50 / (5461 * math.sqrt(depth)):.3g}")


def chain(each):
    module = Module(each.name)
    x = module.parameter("s8", (each.rows, each.widths[0]))
    for depth, width in zip(each.widths, each.widths[1:]):
        dims = (each.rows, width)
        weights = module.parameter("s8", (depth, width))
        x = module.add("dot", "s32", dims, f"dot({x}, {weights}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
        if each.bias:
            bias = module.parameter("s32", (width,))
            bias = module.add("broadcast", "s32", dims, f"broadcast({bias}), dimensions={{1}}")
            x = module.add("add", "s32", dims, f"add({x}, {bias})")
        if each.relu:
            x = module.relu(x, dims)
        x = module.quantize(x, dims, each.scale or scale_for(depth))
    return module.text((each.rows, each.widths[-1]))


def residual(each):
    module = Module(each.name)
    sides = []
    for scale in each.scales:
        x = module.parameter("s8", each.dims)
        if scale != 1:
            x = module.quantize(x, each.dims, scale)
        sides.append(module.add("convert", "s32", each.dims, f"convert({x})"))
    x = module.add("add", "s32", each.dims, f"add({sides[0]}, {sides[1]})")
    if each.relu:
        x = module.relu(x, each.dims)
    module.quantize(x, each.dims, each.scale)
    return module.text(each.dims)


(FOLDER / SUITE).mkdir(exist_ok=True)
suite = ("# Kernels of several int8 layers, and residual additions.\n"
         f'name = "{SUITE}"\ntarget = "gemmini"\n')
for each in CHAINS + RESIDUALS:
    file = f"{SUITE}/{each.name}.hlo"
    (FOLDER / file).write_text(chain(each) if isinstance(each, Chain) else residual(each))
    suite += (f'\n[[instance]]\nname = "{each.name}"\nfamily = "{each.family}"\nhlo = "{file}"\n'
              f"params = {{ {each.params()} }}\n")
(FOLDER / f"{SUITE}.toml").write_text(suite)
