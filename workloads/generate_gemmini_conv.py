#!/usr/bin/env python3
"""Writes the HLO files and suite files of the int8 convolution suites `gemmini-conv` and `gemmini-extra`.

Every instance is an s8 convolution accumulated in s32, mostly with an s32 bias of the output channels and a relu,
scaled, rounded to nearest even, limited and converted to s8. The small ones differ in spelling, the way that real
dumps do: operands widened first, padding as an operation of its own, the bias through a row, other orders of dims.
Rerun after a change and commit what it writes.
"""

import dataclasses
import math
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Layer:
    name: str
    family: str
    image: tuple  # rows, columns
    channels: tuple  # in, out
    kernel: tuple = (3, 3)
    stride: int = 1
    padding: tuple = None  # of rows and columns on each side; None = as many pixels out as in, at stride 1
    dilation: int = 1
    groups: int = 1
    batch: int = 1
    bias: bool = True
    relu: bool = True
    labels: str = "b01f_01io->b01f"
    spelling: str = "plain"  # or widened, padded, row_bias

    def __post_init__(self):
        if self.padding is None:
            self.padding = tuple((k - 1) * self.dilation // 2 for k in self.kernel)

    def out(self, axis):
        window = (self.kernel[axis] - 1) * self.dilation + 1
        return (self.image[axis] + 2 * self.padding[axis] - window) // self.stride + 1

    def params(self):
        values = {
            "batch": self.batch, "rows": self.image[0], "cols": self.image[1], "cin": self.channels[0],
            "cout": self.channels[1], "krows": self.kernel[0], "kcols": self.kernel[1], "stride": self.stride,
        }
        return ", ".join(f"{k} = {v}" for k, v in values.items())

    def macs(self):
        return (self.batch * self.out(0) * self.out(1) * self.kernel[0] * self.kernel[1] * self.channels[0] //
                self.groups * self.channels[1])


CONV = [
    Layer("conv3x3", "conv", (14, 14), (32, 48)),
    Layer("conv3x3_s2", "conv", (28, 28), (24, 32), stride=2, spelling="padded"),
    Layer("conv1x1", "pointwise", (14, 14), (64, 96), (1, 1), spelling="row_bias"),
    Layer("conv1x1_s2", "pointwise", (28, 28), (32, 64), (1, 1), stride=2, relu=False),
    Layer("conv5x5", "conv", (14, 14), (16, 24), (5, 5), spelling="widened"),
    Layer("conv7x7_s2", "first", (48, 48), (3, 32), (7, 7), stride=2),
    Layer("conv1x7", "rectangular", (17, 17), (32, 32), (1, 7)),
    Layer("conv7x1", "rectangular", (17, 17), (32, 32), (7, 1), spelling="widened"),
    Layer("conv_wide", "conv", (10, 33), (20, 40)),
    Layer("conv_valid", "conv", (12, 12), (40, 20), padding=(0, 0), bias=False, relu=False),
    Layer("conv_dilated", "dilated", (16, 16), (32, 32), dilation=2, spelling="padded"),
    Layer("conv_batch", "conv", (7, 7), (64, 64), batch=4),
    Layer("depthwise3x3", "depthwise", (14, 14), (72, 72), groups=72),
    Layer("conv_nchw", "conv", (9, 9), (16, 16), labels="bf01_oi01->bf01"),
]


def resnet50():
    """The distinct layers, batch 1; a block's stride is in its 3x3 convolution, as in the usual checkpoints."""
    layers = [Layer("conv1", "first", (224, 224), (3, 64), (7, 7), stride=2)]
    size, cin = 56, 64
    for stage, width in enumerate((64, 128, 256, 512), 2):
        wide, before = 4 * width, size if stage == 2 else 2 * size

        def add(name, image, channels, kernel=1, stride=1, relu=True):
            layers.append(
                Layer(f"stage{stage}_{name}", "pointwise" if kernel == 1 else "conv", (image, image), channels,
                      (kernel, kernel), stride, relu=relu))

        add("reduce_first", before, (cin, width))
        if stage == 2:
            add("conv3x3", size, (width, width), 3)
        else:
            add("conv3x3_s2", before, (width, width), 3, 2)
            add("shortcut", before, (cin, wide), 1, 2, relu=False)
        add("expand", size, (width, wide), relu=False)
        add("reduce", size, (wide, width))
        if stage != 2:
            add("conv3x3", size, (width, width), 3)
        size, cin = size // 2, wide
    return layers


def scale_for(depth):
    """Uniform s8 operands give sums of about 5461 * sqrt(depth); aim at a spread of 50."""
    return f"{50 / (5461 * math.sqrt(depth)):.3g}"


class Module:
    def __init__(self, name):
        self.name, self.lines, self.types = name, [], {}

    @staticmethod
    def shape(dtype, dims):
        layout = "{" + ",".join(str(d) for d in reversed(range(len(dims)))) + "}" if dims else ""
        return f"{dtype}[{','.join(map(str, dims))}]{layout}"

    def add(self, stem, dtype, dims, opcode, inside, attributes="", root=False):
        name = f"{stem}.{len(self.lines) + 1}"
        self.types[name] = self.shape(dtype, dims)
        self.lines.append(f"{'ROOT ' if root else ''}{name} = {self.types[name]} {opcode}({inside}){attributes}")
        return name

    def splat(self, dtype, dims, value):
        scalar = self.add("constant", dtype, (), "constant", value)
        return self.add("broadcast", dtype, dims, "broadcast", scalar, ", dimensions={}")

    def text(self, parameters, result):
        layout = f"{{({', '.join(self.types[p] for p in parameters)})->{result}}}"
        body = "".join(f"  {line}\n" for line in self.lines)
        return f"HloModule jit_{self.name}, entry_computation_layout={layout}\n\nENTRY main.1 {{\n{body}}}\n"


def convolution(layer):
    def dims(order, sizes):
        return tuple(sizes[label] for label in order)

    inputs, kernels = layer.labels.split("->")[0].split("_")
    outputs = layer.labels.split("->")[1]
    cin, cout = layer.channels
    image = {"b": layer.batch, "0": layer.image[0], "1": layer.image[1], "f": cin}
    weights = {"0": layer.kernel[0], "1": layer.kernel[1], "i": cin // layer.groups, "o": cout}
    result = dims(outputs, {"b": layer.batch, "0": layer.out(0), "1": layer.out(1), "f": cout})

    module = Module(layer.name)
    x = module.add("Arg_0", "s8", dims(inputs, image), "parameter", "0")
    w = module.add("Arg_1", "s8", dims(kernels, weights), "parameter", "1")
    parameters = [x, w]
    if layer.bias:
        parameters.append(module.add("Arg_2", "s32", (cout,), "parameter", "2"))
    narrow = "s8"
    if layer.spelling == "widened":
        narrow = "s32"
        x = module.add("convert_element_type", "s32", dims(inputs, image), "convert", x)
        w = module.add("convert_element_type", "s32", dims(kernels, weights), "convert", w)
    padding = "x".join(f"{p}_{p}" for p in layer.padding)
    if layer.spelling == "padded":
        zero = module.add("constant", narrow, (), "constant", "0")
        image = dict(image, **{"0": layer.image[0] + 2 * layer.padding[0], "1": layer.image[1] + 2 * layer.padding[1]})
        amounts = {"b": "0_0", "f": "0_0", "0": f"{layer.padding[0]}_{layer.padding[0]}",
                   "1": f"{layer.padding[1]}_{layer.padding[1]}"}
        x = module.add("pad", narrow, dims(inputs, image), "pad", f"{x}, {zero}",
                       ", padding=" + "x".join(dims(inputs, amounts)))
        padding = "0_0x0_0"
    window = f"size={layer.kernel[0]}x{layer.kernel[1]}"
    if layer.stride != 1:
        window += f" stride={layer.stride}x{layer.stride}"
    if padding != "0_0x0_0":
        window += f" pad={padding}"
    if layer.dilation != 1:
        window += f" rhs_dilate={layer.dilation}x{layer.dilation}"
    groups = f", feature_group_count={layer.groups}" if layer.groups != 1 else ""
    y = module.add("conv_general_dilated", "s32", result, "convolution", f"{x}, {w}",
                   f", window={{{window}}}, dim_labels={layer.labels}{groups}")
    if layer.bias:
        bias, at = parameters[2], outputs.index("f")
        if layer.spelling == "row_bias":
            row = module.add("reshape", "s32", (1, 1, 1, cout), "reshape", bias)
            flat = module.add("reshape", "s32", (cout,), "reshape", row)
            bias = flat
        full = module.add("broadcast", "s32", result, "broadcast", bias, f", dimensions={{{at}}}")
        y = module.add("add", "s32", result, "add", f"{y}, {full}")
    if layer.relu:
        y = module.add("max", "s32", result, "maximum", f"{y}, {module.splat('s32', result, '0')}")
    add_epilogue(module, y, result, scale_for(layer.kernel[0] * layer.kernel[1] * cin // layer.groups))
    return module.text(parameters, module.shape("s8", result))


def add_epilogue(module, y, result, scale):
    y = module.add("convert_element_type", "f32", result, "convert", y)
    y = module.add("mul", "f32", result, "multiply", f"{y}, {module.splat('f32', result, scale)}")
    y = module.add("round", "f32", result, "round-nearest-even", y)
    low = module.add("constant", "f32", (), "constant", "-128")
    high = module.add("constant", "f32", (), "constant", "127")
    y = module.add("clamp", "f32", result, "clamp", f"{low}, {y}, {high}")
    module.add("convert_element_type", "s8", result, "convert", y, root=True)


def fully_connected(name, batch, cin, cout):
    module = Module(name)
    x = module.add("Arg_0", "s8", (batch, cin), "parameter", "0")
    w = module.add("Arg_1", "s8", (cin, cout), "parameter", "1")
    b = module.add("Arg_2", "s32", (cout,), "parameter", "2")
    result = (batch, cout)
    y = module.add("dot_general", "s32", result, "dot", f"{x}, {w}",
                   ", lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    full = module.add("broadcast", "s32", result, "broadcast", b, ", dimensions={1}")
    y = module.add("add", "s32", result, "add", f"{y}, {full}")
    add_epilogue(module, y, result, scale_for(cin))
    return module.text([x, w, b], module.shape("s8", result))


def write_suite(name, folder, comment, layers, more=()):
    suite = f'# {comment}\nname = "{name}"\ntarget = "gemmini"\n'
    (FOLDER / folder).mkdir(exist_ok=True)
    entries = [(layer.name, layer.family, layer.params(), convolution(layer)) for layer in layers]
    for entry, family, params, text in entries + list(more):
        (FOLDER / folder / f"{entry}.hlo").write_text(text)
        suite += (f'\n[[instance]]\nname = "{entry}"\nfamily = "{family}"\nhlo = "{folder}/{entry}.hlo"\n'
                  f"params = {{ {params} }}\n")
    (FOLDER / f"{name}.toml").write_text(suite)


write_suite("gemmini-conv", "gemmini-conv", "Small int8 convolutions: kernels, strides, padding, dilation, groups.", CONV)
write_suite("gemmini-extra", "gemmini-resnet50", "The distinct layers of ResNet-50 at batch 1, in int8: too large to be searched unasked.", resnet50(),
            [("fully_connected", "linear", "n = 1, hin = 2048, hout = 1000",
              fully_connected("fully_connected", 1, 2048, 1000))])
