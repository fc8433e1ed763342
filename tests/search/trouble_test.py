"""A target that misbehaves costs one evaluation for each misbehaviour; the search finishes and names it."""
import json
import os
import signal
import sqlite3
import time

from harness import Folder, check, check_equal

EXPECTED = {
    "good": ("valid", None),
    "segfault": ("crashed", "killed by signal 11 (Segmentation fault)"),
    "hang": ("timed out", "no answer after 2 s; its process was killed"),
    "leak": ("simulation failed", "the plugin ran out of memory"),
    "print": ("valid", None),
    "throw": ("simulation failed", "the plugin threw: thrown on purpose"),
    "throw_raw": ("crashed", "killed by signal 6 (Aborted)"),
    "garbage": ("simulation failed", "not a valid Simulation message of 64 bytes"),
    "scribble": ("crashed", "its process died"),  # what it wrote is no frame
    "exit": ("crashed", "exited with code 0"),
    "wrong": ("wrong", "output 0 at [63]"),
    "refuse": ("lowering failed", "this plan cannot be lowered"),
}


def has_job(folder):
    if not os.path.exists(folder.path + "/.zomboss/history.db"):
        return False
    try:
        with sqlite3.connect(folder.path + "/.zomboss/history.db") as history:
            return history.execute("SELECT count(*) FROM jobs").fetchone()[0] > 0
    except sqlite3.OperationalError:  # it is being made
        return False


FLAGS = ["--target", "trouble", "--set", "worker.seconds=2", "--set", "worker.memory=512"]

with Folder() as folder:
    asked = json.loads(folder.run("ask", "add.hlo", *FLAGS, "--evaluations", 30).stdout)
    lines = "".join(json.dumps({"intents": [{"behaviour": name, "chunk": 8, "rows": 5}]}) + "\n"
                    for name in EXPECTED) + '{"stop": "done"}\n'
    told = folder.run("tell", asked["run"], stdin=lines)
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    check_equal(len(answers), len(EXPECTED) + 1, "one answer for each proposal, and the state at the end")
    for number, (name, (outcome, reason)) in enumerate(EXPECTED.items(), 1):
        result = answers[number - 1]["results"][0]
        check_equal(result["outcome"], outcome, f"{name}: outcome")
        check_equal(result["evaluation"], number, f"{name}: costs one evaluation")
        if reason is not None:
            check(reason in result["reason"], f"{name}: the reason says '{reason}' ({result['reason']})")
    check_equal(answers[-1]["incumbent"]["latency"], 125, "the good plan is the incumbent")
    shown = folder.json("show", asked["run"])
    kinds = [event["kind"] for event in shown["events"]]
    texts = " ".join(event["text"] for event in shown["events"])
    check_equal(kinds.count("timeout"), 1, "one time-out is recorded")
    check(kinds.count("crash") >= 4, "the crashes are recorded")
    check("I am the data" in texts and "and I the talk" in texts, "what the plugin printed is recorded")
    check("target trouble" in texts, "the plugin is named")
    check_equal(told.stdout.count("I am the data"), 0, "and nothing of it is in our output")
    folder.run("report", "-o", "report.html")
    with open(folder.path + "/report.html", encoding="utf-8") as stream:
        page = stream.read()
    check("Segmentation fault" in page and "target trouble" in page, "the report names them")

    # A policy that picks at random meets them all and finishes.
    found = folder.json("search", "add.hlo", *FLAGS, "--policy", "random", "--evaluations", 60, "--no-export", "-j", 4,
                        "--set", "plugins.quarantine=0")
    check_equal(found["evaluations"], 60, "a random search spends its budget")
    check(found["rejections"].get("crashed", 0) > 5, "and met crashes")

with Folder() as folder:
    # Nothing but crashes: the target is quarantined, visibly, and let go again.
    lines = "".join(json.dumps({"intents": [{"behaviour": "segfault", "rows": rows, "chunk": chunk}]}) + "\n"
                    for rows in range(1, 9) for chunk in (1, 2))
    asked = json.loads(folder.run("ask", "add.hlo", *FLAGS, "--set", "plugins.quarantine=5").stdout)
    told = folder.run("tell", asked["run"], stdin=lines)
    last = json.loads(told.stdout.splitlines()[-1])
    check("quarantined after 5 crashes" in last["stop_reason"], "five crashes in a row end the search")
    refused = folder.run("search", "add.hlo", *FLAGS, expect=2)
    check("is quarantined" in refused.stderr and "plugins release trouble" in refused.stderr, "and the next one")
    check("quarantined: trouble 1.0.0" in folder.run("plugins").stdout, "the list of plugins shows it")
    folder.run("plugins", "release", "trouble")
    check("quarantined" not in folder.run("plugins").stdout, "released")
    folder.run("search", "add.hlo", *FLAGS, "--evaluations", 2, "--no-export", expect=None)
    folder.run("plugins", "release", "nobody", expect=2)

with Folder() as folder:
    # A policy that dies ends its search with what was found, recorded.
    done = folder.run("search", "add.hlo", *FLAGS, "--policy", "crashing", "--no-export", expect=3)
    check("the policy failed: policy crashing" in done.stdout, "the report says that the policy died")
    check("killed by signal 11" in done.stdout, "and how")
    check_equal(folder.json("show", 1)["evaluations"], 2, "its evaluations are kept")

with Folder() as folder:
    # A reference that misbehaves is told with its outcome; the search goes on.
    for number, name in ((0, "good"), (1, "segfault"), (3, "refuse"), (11, "hang")):
        outcome, reason = EXPECTED[name]
        found = folder.json("search", "add.hlo", *FLAGS, "--no-export", "--evaluations", 2, "--set",
                            f"target.trouble.reference={number}")
        reference, = found["references"]
        check_equal(reference["outcome"], outcome, f"a reference that is '{name}': outcome")
        check(reason is None or reason in reference["reason"], f"and reason ({reference.get('reason')})")
        check_equal(found["evaluations"], 2, "the search goes on")
        check_equal(found["baseline"], 125.0 if name == "good" else None, "only one that verifies is a baseline")
    # Interrupted while it is evaluated: nothing is recorded of it, and a resume evaluates it.
    slow = ["search", "add.hlo", *FLAGS, "--no-export", "--evaluations", 2, "--set", "target.trouble.reference=0", "--set",
            "target.trouble.delay_ms=1000"]
    folder.remove_history()
    process = folder.start(*slow)
    while not has_job(folder) and process.poll() is None:  # it is begun when Candidate-0 is verified
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    check_equal(process.returncode, 130, "interrupted in the reference: exit code 130")
    again = folder.json("resume")
    check_equal((again["references"][0]["outcome"], again["evaluations"]), ("valid", 2), "resumed, it is evaluated")
