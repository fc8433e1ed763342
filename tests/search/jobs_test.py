"""Real targets: the history does not depend on the number of workers, nor on where plugins run; replay proves it."""
from harness import SOURCE, Folder, check, check_equal

CASES = [
    ("gemmini/gemm_c3.hlo", "gemmini", "hill", 12, ["--set", "policy.hill.batch=4"]),
    ("gemmini/linear_c2.hlo", "gemmini", "random", 24, []),
    ("gemmini/gemm_c2.hlo", "gemmini", "genetic", 24, []),
    ("plena/softmax_c2.hlo", "plena", "genetic", 20,
     ["--contract", SOURCE + "/workloads/plena/softmax.toml"]),
]

with Folder() as folder:
    for workload, target, policy, evaluations, more in CASES:
        words = ["search", f"{SOURCE}/workloads/{workload}", "--target", target, "--policy", policy, "--seed", 3,
                 "--evaluations", evaluations, "--no-export", *more]
        texts = []
        for extra in (["-j", 1], ["-j", 3], ["-j", 16], ["--set", "plugins.isolation=in-process"]):
            folder.remove_history()
            folder.run(*words, *extra)
            texts.append(folder.canonical())
        check(len(texts[0].splitlines()) > evaluations, f"{workload} {policy}: a history")
        check(all(text == texts[0] for text in texts), f"{workload} {policy}: -j 1, 3, 16 and in-process are equal")
        replayed = folder.json("replay", 1)
        check(replayed["same"] and replayed["evaluations"] == evaluations, f"{workload} {policy}: replays")
        check(folder.json("replay", 1, "--best")["same"], f"{workload} {policy}: its best plan replays")

    # A record that was tampered with does not replay: exit code 4.
    import sqlite3
    database = sqlite3.connect(folder.path + "/.zomboss/history.db")
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    check("trials" in tables, "the trials are a table")
    database.execute("UPDATE trials SET latency = latency + 1 WHERE number = 2 AND latency > 0")
    database.execute("UPDATE trials SET latency = latency + 1 WHERE number = 1 AND latency > 0")
    database.commit()
    database.close()
    done = folder.run("replay", 1, expect=4)
    check("MISMATCH" in done.stdout, "a changed record is a mismatch: " + done.stdout.strip())
