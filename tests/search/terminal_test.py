"""Progress on a terminal and elsewhere; colour; exit codes; driving a search from outside; comparisons."""
import json
import os
import pty
import subprocess

from harness import PROGRAM, SOURCE, Folder, check, check_equal

SEARCH = ["search", SOURCE + "/workloads/gemmini/gemm_c1.hlo", "--policy", "hill", "--no-export", "--evaluations", "6"]


def on_terminal(folder, words, **environment):
    """What the program writes to a terminal of 60 columns."""
    import fcntl
    import struct
    import termios
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = subprocess.Popen([PROGRAM, *words], cwd=folder.path, stdout=subprocess.DEVNULL, stderr=follower,
                               env={**folder.environment(), "TERM": "xterm", **environment})
    os.close(follower)
    text = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        text += chunk
    process.wait()
    os.close(leader)
    return text.decode()


with Folder() as folder:
    text = on_terminal(folder, SEARCH)
    check("\r\x1b[K" in text, "on a terminal a line is rewritten")
    check("\x1b[32m" in text, "and a new best is green")
    lines = [part.replace("\x1b[32m", "").replace("\x1b[0m", "") for part in text.split("\r\x1b[K")]
    check(all(len(line.strip("\r\n")) < 60 for line in lines), "no line is wider than the terminal")
    check("\x1b[32m" not in on_terminal(folder, SEARCH, NO_COLOR="1"), "NO_COLOR: none")
    piped = folder.run(*SEARCH)
    check("\x1b" not in piped.stderr and "\r" not in piped.stderr, "elsewhere there are no control characters")
    check("[1/6]" in piped.stderr or "best" in piped.stderr, "and a line for each new best")
    check("\x1b" not in on_terminal(folder, SEARCH, TERM="dumb"), "nor on a terminal that cannot")

    closed = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", PROGRAM, *SEARCH], cwd=folder.path,
                            env=folder.environment(), check=False)
    check_equal(closed.returncode, 2, "closed standard descriptors: the output could not be written, exit code 2")
    check(len(folder.json("runs")["runs"]) > 1, "and the search was recorded")

with Folder() as folder:
    words = ["ask", SOURCE + "/workloads/gemmini/gemm_c2.hlo", "--evaluations", "9"]
    state = json.loads(folder.run(*words).stdout)
    knobs = {knob["name"]: knob["values"] for knob in state["surface"]["knobs"] if not knob["fixed"]}
    check("tile_m" in knobs and state["left"]["evaluations"] == 9, "ask: surface and budget")
    proposals = [
        {"intents": [{"tile_m": knobs["tile_m"][-1]}, "tile_n~32"], "rationale": "larger tiles"},
        {"region": {"preferred": {"tile_k": knobs["tile_k"][-1]}, "diversity": ["tile_n"]}},
        {"region": {"diversity": []}},
        {"intents": [{"no_such_knob": 1}]},
        {"wrong": 1},
        {"intents": [{}]},
        {"stop": 1},
        {"rationale": 5, "intents": [{}]},
        {"intents": [{"tile_m": 9223372036854775808}]},
    ]
    stdin = "".join(json.dumps(each) + "\n" for each in proposals) + '{"intents":[{"tile_m":32,"tile_m":64}]}\n\n'
    told = folder.run("tell", 1, stdin=stdin)
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    check_equal([answer["schema"].split(".")[1].split("/")[0] for answer in answers],
                ["tell", "tell", "tell", "error", "error", "tell", "error", "error", "error", "error", "ask"],
                "an answer for each line")
    check("'tile_m' stands twice" in answers[9]["message"], "a key that stands twice is refused")
    check("9223372036854775808" in answers[8]["message"], "a number beyond 64 bits is not another one")
    check_equal(len(answers[0]["results"]), 2, "both intents are answered")
    check_equal(len(answers[1]["results"]), 2, "of a region two plans are evaluated")
    check("needs at least one diversity axis" in answers[2]["results"][0]["reason"], "a bad region says why")
    check("unknown knob 'no_such_knob'" in answers[3]["message"], "a bad line says why")
    check_equal(answers[5]["results"][0]["outcome"], "duplicate", "the empty intent is Candidate-0")
    used = 9 - answers[-1]["left"]["evaluations"]
    again = json.loads(folder.run("ask", "--run", 1).stdout)
    check_equal(again["incumbent"], answers[-1]["incumbent"], "ask --run shows the same incumbent")
    told = folder.run("tell", 1, stdin='{"intents":["tile_m=16 tile_n=16 tile_k~64"]}\n' * 5)
    last = json.loads(told.stdout.splitlines()[-1])
    check(last["left"]["evaluations"] <= 9 - used, "a later tell goes on")
    check_equal(folder.json("show", 1)["proposals"], 4 + 5, "every proposal is recorded")
    done = folder.run("tell", 99, expect=2)
    check("99" in done.stderr, "a run that is not there is named")
    folder.run("search", *words[1:], "--no-export")
    done = folder.run("tell", 2, stdin='{"stop":"x"}\n', expect=2)
    check("has a policy of its own" in done.stderr, "a run with a policy cannot be told")

with Folder() as folder:
    for name in ("gemm_c1", "gemm_c2"):
        with open(f"{SOURCE}/workloads/gemmini/{name}.hlo", encoding="utf-8") as stream:
            folder.write(name + ".hlo", stream.read())
    folder.write("small.toml", 'name = "small"\ntarget = "gemmini"\n' + "".join(
        f'[[instance]]\nhlo = "{name}.hlo"\nbaseline = 3000\n' for name in ("gemm_c1", "gemm_c2")))
    suite = folder.json("suite", "small.toml", "--policies", "random,hill", "--seeds", "1..3", "--evaluations", 6)
    check_equal([each["policy"] for each in suite["policies"]], ["random", "hill"], "suite: both policies")
    check_equal([each["runs"] for each in suite["policies"]], [6, 6], "three seeds on two workloads")
    check(all(each["verified"] == 6 for each in suite["policies"]), "all verified")
    check_equal(folder.json("compare"), suite, "compare says the same")
    check_equal(len(folder.json("runs")["runs"]), 12, "twelve runs")
    # By hand from the runs.
    runs = [run for run in folder.json("runs")["runs"] if run["policy"] == "hill"]
    medians = {}
    for run in runs:
        medians.setdefault(run["workload"], []).append(run["best"])
    product = 1.0
    for run in runs[::3]:
        product *= run["candidate0"] / sorted(medians[run["workload"]])[1]
    check(abs(suite["policies"][1]["geometric_mean_speedup"] - product ** 0.5) < 1e-9, "the geometric mean is right")
    for words in (["show", 1], ["show", 1, "--best"], ["show", 1, "--trial", 1], ["show", 1, "--trials"], ["runs"],
                  ["compare"]):
        check("schema" in folder.json(*words), f"{words}: JSON")
        check(folder.run(*words).stdout, f"{words}: text")
    folder.run("suite", "small.toml", "--seeds", "5..1", expect=2)
    folder.run("suite", "small.toml", "--policies", "nobody", expect=3)
    folder.run("show", 77, expect=2)
    folder.run("show", 1, "--trial", 999, expect=2)
    check("no history at" in folder.run("runs", "--history", "none.db", expect=2).stderr, "no history: said")
    folder.write("junk.db", "this is no database " * 100)
    check("junk.db" in folder.run("runs", "--history", "junk.db", expect=2).stderr, "a damaged history is named")
    os.mkfifo(folder.path + "/pipe")
    for words in (["runs", "--history", "pipe"], ["report", 1, "-o", "pipe"]):
        check("no regular file" in folder.run(*words, expect=2).stderr, f"{words}: a pipe is refused")
    folder.write("real.html", "")
    os.symlink("real.html", folder.path + "/link.html")
    folder.run("report", 1, "-o", "link.html")
    check(os.path.getsize(folder.path + "/real.html") > 1000 and os.path.islink(folder.path + "/link.html"),
          "a link is written through")
    folder.run("suite", "small.toml", "--seeds", "18446744073709551615", expect=2)
    jobs = max(run["job"] for run in folder.json("runs")["runs"])
    folder.run("search", "typo.hlo", expect=2)
    check("complete" in folder.run("resume", expect=2).stderr, "a refused input leaves no job behind")
    check("no job" in folder.run("report", "--job", 99, expect=2).stderr, "a job that is not there is named")
