"""kill -9 at random points, interrupts, a full disk: resumed, the history is that of the uninterrupted run. The
number of workers does not change it."""
import json
import random
import resource
import signal
import time

from harness import ADD, Folder, check, check_equal

# 8 x 4 x 5 plans of 8 ms each; crashing and wrong ones among them.
TROUBLE = ["add.hlo", "--target", "trouble", "--set", "target.trouble.delay_ms=8", "--set",
           "target.trouble.behaviours=5", "--set", "plugins.quarantine=0", "--no-export"]


def search(policy, evaluations, *more):
    return ["search", *TROUBLE, "--policy", policy, "--seed", 5, "--evaluations", evaluations, *more]


def uninterrupted(folder, words):
    folder.remove_history()
    folder.run(*words)
    text = folder.canonical()
    folder.remove_history()
    return text


def kill_points(folder, policy, evaluations, points, seed):
    words = search(policy, evaluations)
    started = time.monotonic()
    whole = uninterrupted(folder, words)
    duration = time.monotonic() - started
    rng = random.Random(seed)
    killed = 0
    for _ in range(points):
        folder.remove_history()
        process = folder.start(*words)
        time.sleep(rng.uniform(0.05, duration))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        runs = folder.run("runs", "--json", expect=None)
        if (runs.returncode == 2 and "there is no history" in runs.stderr) or not json.loads(runs.stdout)["runs"]:
            continue  # dead before the run, or even the history's first transaction: there is nothing to resume
        folder.run("resume", 1)
        check_equal(folder.canonical(), whole, f"{policy}: killed and resumed, the same history")
    check(killed > points // 3, f"{policy}: {killed} of {points} were killed before they ended")


with Folder() as folder:
    for number, policy in enumerate(["random", "hill", "genetic", "exhaustive"]):
        kill_points(folder, policy, 40, 5, number)

    # Twice cut off, resumed with another number of workers.
    words = search("genetic", 40, "--set", "target.trouble.delay_ms=60")
    whole = uninterrupted(folder, words)
    interrupted = 0
    for signals in (1, 2):
        process = folder.start(*words, "-j", 2)
        time.sleep(0.7)
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, err = process.communicate()
        interrupted += 1
        check_equal(process.returncode, 130, f"{signals} interrupts: exit code 130")
        check("resume 1" in err, "and the command to go on with")
        folder.run("resume")
        check_equal(folder.canonical(), whole, "interrupted and resumed, the same history")
        folder.remove_history()

    check_equal(interrupted, 2, "both interrupts came in time")

    words = search("genetic", 40)
    whole = uninterrupted(folder, words)
    for jobs in (1, 3, 16):
        folder.remove_history()
        folder.run(*words, "-j", jobs)
        check_equal(folder.canonical(), whole, f"-j {jobs}: the same history")

    # A disk that is full: an error that says so, nothing lost, resumed when there is room again.
    folder.remove_history()

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (220_000, 220_000))

    failed = folder.run(*words, expect=None, preexec_fn=small_disk)
    check(failed.returncode not in (0, -signal.SIGXFSZ), f"a full disk is an error (exit {failed.returncode})")
    check("history.db" in failed.stderr, "it names the file: " + failed.stderr.strip()[-200:])
    folder.run("resume", 1)
    check_equal(folder.canonical(), whole, "resumed when there is room, the same history")

    # Resuming what is complete repeats it from the history; another budget is another search.
    again = folder.json("resume", 1)
    check_equal(again["history"]["recalled"], again["evaluations"], "a complete run is answered from the history")
    check_equal(folder.canonical(), whole, "and is unchanged")
    # While it runs, nobody else goes on with it; a workload that changed is not gone on with.
    folder.remove_history()
    process = folder.start(*search("genetic", 40, "--set", "target.trouble.delay_ms=60"))
    time.sleep(1)
    refused = folder.run("resume", 1, expect=2)
    check(f"running in process {process.pid}" in refused.stderr, "a job that runs is not resumed")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    folder.write("add.hlo", ADD.replace("add(a, b)", "subtract(a, b)"))
    refused = folder.run("resume", 1, expect=2)
    check("changed since the search was begun" in refused.stderr, "a changed workload is named")
    replayed = folder.run("replay", 1, expect=2)
    check("changed since the search was begun" in replayed.stderr, "and is not replayed")
    folder.write("add.hlo", ADD)
    folder.run("resume", 1)
    missing = folder.run("resume", 99, expect=2)
    check("99" in missing.stderr, "a job that is not there is named")
