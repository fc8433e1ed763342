#!/usr/bin/env python3
"""Writes the HLO files and suite files of the int8 suites `gemmini`, `gemmini-alt`, `gemmini-amd` and
`gemmini-measured` beside this script.

Every instance is: s8 operands, products accumulated in s32, an s32 bias for Linear, convert to f32, multiply by a
constant, round to nearest even, limit to [-128, 127], convert to s8. The instances differ in spelling, the way
that real dumps do: see SPELLINGS. Rerun after a change and commit what it writes.
"""

import math
import pathlib
import struct

FOLDER = pathlib.Path(__file__).resolve().parent

GEMMINI = {
    "gemm": [(32, 32, 32), (32, 64, 64), (64, 64, 64), (128, 32, 64), (32, 64, 128)],
    "bmm": [(2, 32, 32, 32), (4, 32, 32, 32), (2, 64, 64, 32), (4, 32, 64, 32), (2, 32, 64, 64)],
    "gemv": [(64, 32), (64, 64), (128, 64), (64, 256), (256, 64)],
    "linear": [(4, 32, 64), (8, 64, 64), (4, 256, 64), (8, 64, 256), (12, 128, 128)],
}
MATRICES = [(4, 64, 64), (8, 128, 128), (16, 128, 256), (32, 256, 256), (64, 256, 512)]
GEMMINI_ALT = {
    "gemm": MATRICES,
    "bmm": [(2, *MATRICES[0]), (4, *MATRICES[1]), (8, *MATRICES[2]), (16, *MATRICES[3]), (32, *MATRICES[4])],
    "gemv": [(64, 512), (128, 512), (256, 512), (512, 512), (512, 1024)],
    "linear": MATRICES,
}
GEMMINI_AMD = {
    "gemm": [(8, 64, 64), (16, 256, 128), (32, 256, 256), (64, 512, 256), (128, 512, 1024)],
    "bmm": [(8, 16, 64, 64), (16, 32, 256, 128), (16, 64, 256, 256), (32, 64, 512, 256), (32, 64, 256, 1024)],
    "gemv": [(64, 64), (128, 256), (256, 256), (512, 256), (512, 1024)],
    "linear": [(8, 64, 64), (16, 256, 128), (32, 256, 256), (64, 256, 512), (128, 1024, 512)],
}
# Shapes for which cycles of the real hardware are known, mapping by mapping: most are in the suites above.
MEASURED = [
    ("gemm_32x32x32", "gemm", "C1", "gemmini/gemm_c1.hlo", (32, 32, 32)),
    ("gemm_32x64x64", "gemm", "C2", "gemmini/gemm_c2.hlo", (32, 64, 64)),
    ("gemm_64x64x64", "gemm", "C3", "gemmini/gemm_c3.hlo", (64, 64, 64)),
    ("gemm_128x32x64", "gemm", "C4", "gemmini/gemm_c4.hlo", (128, 32, 64)),
    ("gemm_64x256x512", "gemm", "C5", "gemmini-alt/gemm_c5.hlo", (64, 256, 512)),
    ("gemm_4x64x64", "gemm", "C1", "gemmini-alt/gemm_c1.hlo", (4, 64, 64)),
    ("gemv_1x256x64", "gemv", "C1", "gemmini-measured/gemv_1x256x64.hlo", (64, 256)),
    ("linear_8x64x64", "linear", "C2", "gemmini/linear_c2.hlo", (8, 64, 64)),
    ("bmm_2x32x32x32", "bmm", "C1", "gemmini/bmm_c1.hlo", (2, 32, 32, 32)),
]
PARAMETERS = {"gemm": "M K N", "bmm": "b M K N", "gemv": "M N", "linear": "n hin hout"}
FAMILIES = {"gemm": "gemm", "bmm": "batchmatmul", "gemv": "gemv", "linear": "linear"}

# By configuration C1..C5: (printer, widen operands first, limits, limits before rounding).
SPELLINGS = [
    ("short", False, "clamp", False),
    ("full", False, "call", False),
    ("short", True, "clamp", True),
    ("typed", False, "clamp", False),
    ("full", False, "minmax", False),
]


def as_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def scale_for(depth, config):
    """Uniform s8 operands give sums of about 5461 * sqrt(depth); aim at a spread of 50. C3: a power of two."""
    scale = 50 / (5461 * math.sqrt(depth))
    if config == 3:
        return 2.0 ** round(math.log2(scale))
    return float(f"{scale:.3g}")


def shortest(value):
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if as_f32(float(text)) == as_f32(value):
            return text
    return repr(value)


class Module:
    """Collects instructions of the entry computation and prints them in one of three styles."""

    def __init__(self, name, style):
        self.name, self.style = name, style
        self.percent = "" if style == "short" else "%"
        self.lines, self.types, self.count = [], {}, 0
        self.computations = []

    @staticmethod
    def shape(dtype, dims):
        layout = "{" + ",".join(str(d) for d in reversed(range(len(dims)))) + "}" if dims else ""
        return f"{dtype}[{','.join(map(str, dims))}]{layout}"

    def operand(self, name):
        typed = f"{self.shape(*self.types[name])} " if self.style == "typed" else ""
        return f"{typed}{self.percent}{name}"

    def add(self, stem, dtype, dims, opcode, operands=(), attributes="", literal=None, root=False):
        self.count += 1
        name = f"{stem}.{self.count}"
        self.types[name] = (dtype, dims)
        inside = literal if literal is not None else ", ".join(self.operand(o) for o in operands)
        metadata = ""
        if self.style != "short" and opcode not in ("parameter", "constant"):
            metadata = f', metadata={{op_name="jit({self.name})/{stem}" source_file="{self.name}.py" source_line={10 + self.count}}}'
        text = f"{self.percent}{name} = {self.shape(dtype, dims)} {opcode}({inside}){attributes}{metadata}"
        self.lines.append(("ROOT " if root else "") + text)
        return name

    def clip(self, dims):
        """The helper that jnp.clip leaves behind: minimum(high, maximum(low, x))."""
        p, big, scalar = self.percent, self.shape("f32", dims), "f32[]"
        header = f"{p}clip.90"
        if self.style != "short":
            header += f" (Arg_0.91: {big.split('{')[0]}, Arg_1.92: {scalar}, Arg_2.93: {scalar}) -> {big.split('{')[0]}"
        self.computations.append(
            f"{header} {{\n"
            f"  {p}Arg_0.91 = {big} parameter(0)\n"
            f"  {p}Arg_1.92 = {scalar} parameter(1)\n"
            f"  {p}broadcast.94 = {big} broadcast({p}Arg_1.92), dimensions={{}}\n"
            f"  {p}maximum.95 = {big} maximum({p}broadcast.94, {p}Arg_0.91)\n"
            f"  {p}Arg_2.93 = {scalar} parameter(2)\n"
            f"  {p}broadcast.96 = {big} broadcast({p}Arg_2.93), dimensions={{}}\n"
            f"  ROOT {p}minimum.97 = {big} minimum({p}broadcast.96, {p}maximum.95)\n"
            "}\n")

    def text(self, parameters, result):
        plain = [self.shape(*self.types[p]) for p in parameters]
        layout = f"entry_computation_layout={{({', '.join(plain)})->{self.shape(*result)}}}"
        header = f"HloModule jit_{self.name}, {layout}\n\n"
        entry = f"ENTRY {self.percent}main.{self.count + 1}"
        if self.style != "short":
            arguments = ", ".join(f"{p}: {s.split('{')[0]}" for p, s in zip(parameters, plain))
            entry += f" ({arguments}) -> {self.shape(*result).split('{')[0]}"
        body = "".join(f"  {line}\n" for line in self.lines)
        return header + "".join(c + "\n" for c in self.computations) + f"{entry} {{\n{body}}}\n"


def add_bias(module, config, bias, accumulator, dims):
    width = dims[1:]
    if config in (2, 5):  # through a row vector, as jax broadcasts
        row = module.add("broadcast", "s32", (1, *width), "broadcast", [bias], ", dimensions={1}")
        bias = module.add("reshape", "s32", width, "reshape", [row])
    full = module.add("broadcast", "s32", dims, "broadcast", [bias], ", dimensions={1}")
    operands = [full, accumulator] if config == 3 else [accumulator, full]
    return module.add("add", "s32", dims, "add", operands)


def add_epilogue(module, config, scale, accumulator, dims):
    _, _, limits, before_rounding = SPELLINGS[config - 1]

    def splat(value):
        scalar = module.add("constant", "f32", (), "constant", literal=value)
        return module.add("broadcast", "f32", dims, "broadcast", [scalar], ", dimensions={}")

    def limit(x):
        if limits == "clamp":
            low = module.add("constant", "f32", (), "constant", literal="-128")
            high = module.add("constant", "f32", (), "constant", literal="127")
            return module.add("clamp", "f32", dims, "clamp", [low, x, high])
        if limits == "call":
            low = module.add("constant", "f32", (), "constant", literal="-128")
            high = module.add("constant", "f32", (), "constant", literal="127")
            module.clip(dims)
            return module.add("jit_clip", "f32", dims, "call", [x, low, high], f", to_apply={module.percent}clip.90")
        x = module.add("min", "f32", dims, "minimum", [x, splat("127")])
        return module.add("max", "f32", dims, "maximum", [x, splat("-128")])

    x = module.add("convert_element_type", "f32", dims, "convert", [accumulator])
    x = module.add("mul", "f32", dims, "multiply", [x, splat(shortest(scale))])
    if before_rounding:
        x = limit(x)
    x = module.add("round", "f32", dims, "round-nearest-even", [x])
    if not before_rounding:
        x = limit(x)
    module.add("convert_element_type", "s8", dims, "convert", [x], root=True)


def instance(family, config, sizes, name=None, vector_first=False):
    style, widen, _, _ = SPELLINGS[config - 1]
    module = Module(name or f"{family}_c{config}", style)
    contraction = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    if family == "gemv":
        (rows, depth) = sizes
        shapes, dims = [(rows, depth), (depth,)], (rows,)
        if vector_first:
            shapes = [(depth,), (depth, rows)]
            contraction = ", lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    elif family == "bmm":
        (batch, rows, depth, columns) = sizes
        shapes, dims = [(batch, rows, depth), (batch, depth, columns)], (batch, rows, columns)
        contraction = (", lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
                       "rhs_contracting_dims={1}")
    else:
        (rows, depth, columns) = sizes
        shapes, dims = [(rows, depth), (depth, columns)], (rows, columns)
    parameters = [module.add(f"Arg_{i}", "s8", s, "parameter", literal=str(i)) for i, s in enumerate(shapes)]
    if family == "linear":
        parameters.append(module.add("Arg_2", "s32", (columns,), "parameter", literal="2"))
    operands = parameters[:2]
    if widen:
        operands = [module.add("convert_element_type", "s32", s, "convert", [o]) for o, s in zip(operands, shapes)]
    accumulator = module.add("dot_general", "s32", dims, "dot", operands, contraction)
    if family == "linear":
        accumulator = add_bias(module, config, parameters[2], accumulator, dims)
    add_epilogue(module, config, scale_for(depth, config), accumulator, dims)
    return module.text(parameters, ("s8", dims))


def header(name, comment):
    (FOLDER / name).mkdir(exist_ok=True)
    return f'# {comment}\nname = "{name}"\ntarget = "gemmini"\n'


def entry(name, family, config, file, sizes):
    params = ", ".join(f"{k} = {v}" for k, v in zip(PARAMETERS[family].split(), sizes))
    return (f'\n[[instance]]\nname = "{name}"\nfamily = "{FAMILIES[family]}"\n'
            f'config = "{config}"\nhlo = "{file}"\nparams = {{ {params} }}\n')


def write_suite(name, comment, table):
    suite = header(name, comment)
    for family, configurations in table.items():
        for config, sizes in enumerate(configurations, 1):
            file = f"{name}/{family}_c{config}.hlo"
            (FOLDER / file).write_text(instance(family, config, sizes))
            suite += entry(f"{family}_c{config}", family, f"C{config}", file, sizes)
    (FOLDER / f"{name}.toml").write_text(suite)


write_suite("gemmini", "The int8 shapes: small matrices, several tiles each.", GEMMINI)
write_suite("gemmini-alt", "The shapes of the PLENA table, in int8: growing from C1 to C5.", GEMMINI_ALT)
write_suite("gemmini-amd", "The shapes of the AMD table, in int8: up to half a billion multiply-adds.", GEMMINI_AMD)

measured = header("gemmini-measured", "Nine shapes for which cycles of the real hardware are known for about forty mappings each.")
(FOLDER / "gemmini-measured/gemv_1x256x64.hlo").write_text(
    instance("gemv", 1, (64, 256), name="gemv_1x256x64", vector_first=True))
for each in MEASURED:
    measured += entry(*each)
(FOLDER / "gemmini-measured.toml").write_text(measured)
