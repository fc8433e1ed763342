"""Exported kernels for the real instruction set: kernel.c of search results, compiled by the RISC-V compiler against the
stand-in header, issues exactly the commands of kernel.trace, which is what was simulated and verified.

Words: in the object file of an unrolled kernel the accelerator's instructions and fences stand in the order of the trace,
as the disassembler of binutils finds them. Values: under an emulator each of them traps, and what its registers hold is
what the trace says, addresses as offsets into the kernel's arrays.

Arguments: zomboss, folder of plugins, repository. Exit code 77 where compiler or emulator are missing."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ZOMBOSS, PLUGINS, SOURCE = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = "riscv64-unknown-elf-"
EMULATOR = "qemu-riscv64"
FLAGS = ["-std=gnu11", "-O2", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-ffreestanding", "-Wall",
         "-Wno-unused-variable", "-Werror", "-isystem", HERE, '-DGEMMINI_H="gemmini.h"']
FENCE, FLUSH = 127, 7
COMMANDS = {0, 1, 2, 3, 4, 5, 6, 8, 14, 15}  # that the cases have: moves, steps, both loops
ADDRESSES = {1: (True, False), 2: (True, False), 3: (True, False), 14: (True, False),
             10: (True, True), 11: (True, True), 20: (True, True), 21: (True, True)}  # of rs1, rs2, by funct


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False, **options)
    check(done.returncode == 0, f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


class Trace:
    """The commands of kernel.trace, addresses as ("input_0", offset)."""

    def __init__(self, path):
        self.buffers, self.commands = [], []
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                words = line.split()
                if words[:2] == ["#", "buffer"]:
                    role, index, address, size = words[2], words[3], int(words[4], 16), int(words[5])
                    name = f"{role}_{index}" if role in ("input", "output") else f"buffer_{len(self.buffers)}"
                    self.buffers.append((name, address, size))
                elif words and words[0] != "#":
                    funct, rs1, rs2 = int(words[0]), int(words[1], 16), int(words[2], 16)
                    self.commands.append(command(self.buffers, funct, rs1, rs2))


def command(buffers, funct, rs1, rs2):
    return (funct, *(place(buffers, value) if is_address else value
                     for value, is_address in zip((rs1, rs2), ADDRESSES.get(funct, (False, False)))))


def place(buffers, value):
    for name, address, size in buffers:
        if address <= value < address + size:
            return name, value - address
    return value


def funct_of(word):
    """Of an instruction word, which must be custom-3 with both sources and no destination."""
    check(word & 0x7f == 0x7b and word >> 7 & 31 == 0 and word >> 12 & 7 == 3, f"{word:08x} is no such instruction")
    return word >> 25


def words_in_object(folder):
    """Functs of the accelerator's instructions and fences, in the order of the text sections."""
    run(PREFIX + "gcc", *FLAGS, "-c", "-o", "kernel.o", "kernel.c", cwd=folder)
    functs = []
    for line in run(PREFIX + "objdump", "-d", "kernel.o", cwd=folder).splitlines():
        found = re.match(r"\s+[0-9a-f]+:\s+([0-9a-f]+)\s+(\S+)", line)
        if found and len(found[1]) == 8 and int(found[1], 16) & 0x7f == 0x7b:
            functs.append(funct_of(int(found[1], 16)))
        elif found and found[2] == "fence":
            functs.append(FENCE)
    return functs


def commands_executed(folder, trace):
    """What the emulator sees, and which message the kernel ends with."""
    run(PREFIX + "gcc", *FLAGS, "-DZB_MARK_FENCES", "-nostdlib", "-static", "-o", "kernel", "kernel.c",
        os.path.join(HERE, "run.c"), cwd=folder)
    arrays = []
    for line in run(PREFIX + "nm", "kernel", cwd=folder).splitlines():
        words = line.split()
        for name, _, size in trace.buffers:
            if words[-1] == name:
                arrays.append((name, int(words[0], 16), size))
    done = subprocess.run([EMULATOR, "./kernel"], cwd=folder, text=True, capture_output=True, check=False, timeout=120)
    executed, message = [], ""
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            message = line
            continue
        if message:
            continue  # the message's second line
        word, rs1, rs2 = (int(each, 16) for each in line.split())
        executed.append(command(arrays, funct_of(word), rs1, rs2))
    return executed, message, done.returncode


def check_kernel(folder, trace):
    """The kernel of a folder; whether it is unrolled."""
    with open(os.path.join(folder, "kernel.c"), encoding="utf-8") as stream:
        unrolled = "struct command" not in stream.read()
    expected = [(FLUSH, 0, 0), *trace.commands, (FENCE, 0, 0)]
    words = words_in_object(folder)
    if unrolled:
        check(words == [each[0] for each in expected], "the object file's instructions are not those of the trace")
    else:
        check(set(words) == {each[0] for each in expected}, "the object file lacks an instruction of the trace")
    executed, message, code = commands_executed(folder, trace)
    for number, (got, wanted) in enumerate(zip(executed, expected)):
        check(got == wanted, f"command {number}: the kernel issues {got}, the trace says {wanted}")
    check(len(executed) == len(expected), f"the kernel issues {len(executed)} commands, not {len(expected)}")
    check(message.startswith("# FAIL") and code == 1, f"nothing was computed, and the kernel says '{message}'")
    return unrolled


def check_that_it_notices(folder, trace):
    """One address of one command wrong: the check must fail."""
    path = os.path.join(folder, "kernel.c")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    move = re.search(r"gemmini_extended_mvin\d?\(\(int8_t \*\)\w+ \+ (\d+),", text)
    check(move is not None, "no load to falsify")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text[:move.start(1)] + str(int(move[1]) + 1) + text[move.end(1):])
    try:
        check_kernel(folder, trace)
    except AssertionError:
        return
    raise AssertionError("a kernel with another address passes")


def zomboss(command, workload, *words):
    return run(ZOMBOSS, command, workload, *words, "--plugin-dir", PLUGINS, "--target", "gemmini")


def kernel_of(folder, command, workload, *words):
    """The folder with the one kernel that a command exports."""
    flags = ["--history", ""] if command == "search" else []
    zomboss(command, workload, *words, *flags, "--output", folder)
    inside = os.listdir(folder)
    check(len(inside) == 1, f"one kernel is exported, found {inside}")
    return os.path.join(folder, inside[0])


def cases(root):
    """Commands that export kernels: search results, and a large product and a convolution in each way that their surfaces
    know to issue them."""
    workloads = os.path.join(SOURCE, "workloads")
    for name in ("gemm_c1", "gemm_c3", "linear_c2", "bmm_c2"):
        yield "search", os.path.join(workloads, "gemmini", name + ".hlo"), "--evaluations", 12
    large = os.path.join(root, "large.hlo")
    with open(large, "w", encoding="utf-8") as stream:
        stream.write(LARGE)
    convolution = os.path.join(workloads, "gemmini-conv", "conv3x3.hlo")
    for workload in (large, convolution):
        yield "search", workload, "--evaluations", 4
        surface = json.loads(zomboss("surface", workload, "--json"))
        for value in next(knob["values"] for knob in surface["knobs"] if knob["name"] == "interface"):
            yield "compile", workload, f"interface={value}"


def main():
    missing = [tool for tool in (PREFIX + "gcc", PREFIX + "objdump", EMULATOR) if shutil.which(tool) is None]
    if missing:
        print("SKIPPED, nothing is proved:", ", ".join(missing), "missing; scripts/install-deps.sh --developer has them")
        return 77
    forms, functs = set(), set()
    with tempfile.TemporaryDirectory(prefix="zomboss_riscv_") as root:
        for number, case in enumerate(cases(root)):
            folder = kernel_of(os.path.join(root, str(number)), *case)
            trace = Trace(os.path.join(folder, "kernel.trace"))
            unrolled = check_kernel(folder, trace)
            forms.add(unrolled)
            functs.update(each[0] for each in trace.commands)
            print(f"ok: {case[0]} {os.path.basename(case[1])} {case[-1]}: {len(trace.commands)} commands, "
                  f"{'unrolled' if unrolled else 'a table'}: words and registers")
            if number == 0:
                check_that_it_notices(folder, trace)
                print("ok: and a wrong address is noticed")
    check(forms == {True, False}, "both forms of kernels are proved")
    check(functs >= COMMANDS, f"{sorted(COMMANDS)} are proved, not only {sorted(functs)}")
    return 0


LARGE = """HloModule large

ENTRY main {
  a = s8[272,256] parameter(0)
  b = s8[256,250] parameter(1)
  ROOT y = s32[272,250] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
if __name__ == "__main__":
    sys.exit(main())
