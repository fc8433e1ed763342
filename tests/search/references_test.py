"""Plans that a target names: kept in the history, not evaluated again by a resume or another run of the same problem,
proved by a replay, unknown to whoever proposes."""
import json
import sqlite3

from harness import Folder, check, check_equal

DOT = """HloModule dot
ENTRY main {
  a = s8[64,48] parameter(0)
  b = s8[48,40] parameter(1)
  ROOT y = s32[64,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
TOY = ["dot.hlo", "--target", "toy", "--set", "target.toy.reference=library", "--set", "target.toy.scenarios=fair"]
SEARCH = ["search", *TOY, "--no-export", "--evaluations", 12]


def row(folder, plan):
    """Its time too: it would differ if the plan were evaluated again."""
    with sqlite3.connect(folder.path + "/.zomboss/history.db") as history:
        return history.execute("SELECT outcome, latency, counters, seconds FROM evaluations WHERE plan = ?",
                               (plan,)).fetchall()


with Folder() as folder:
    folder.write("dot.hlo", DOT)
    first = folder.json(*SEARCH)
    library = first["references"][0]
    check_equal((library["name"], library["outcome"], library["latency"]), ("library", "valid", 2708), "evaluated")
    check_equal(first["baseline"], 2708.0, "it is the baseline")
    check_equal(first["evaluations"], 12, "and costs no evaluation")
    stored = row(folder, library["plan"])
    check_equal(len(stored), 1, "it is in the history")
    check("latency@delay=8" in stored[0][2], "with its scenarios")

    second = folder.json(*SEARCH, "--seed", 2)
    check_equal(second["references"], first["references"], "another run of the problem says the same")
    resumed = folder.json("resume", 1)
    check_equal(resumed["references"], first["references"], "so does a resumed one")
    check_equal(resumed["ranking"], first["ranking"], "with the same ranking, from the history")
    check_equal(row(folder, library["plan"]), stored, "and nobody evaluated it again")
    without = folder.json(*SEARCH, "--history", "")
    check_equal((without["references"], without["ranking"], without["trials"]),
                (first["references"], first["ranking"], first["trials"]), "without a history it is the same")

    folder.run("replay", 1)
    with sqlite3.connect(folder.path + "/.zomboss/history.db") as history:
        history.execute("UPDATE evaluations SET latency = 2707 WHERE plan = ?", (library["plan"],))
    replayed = folder.run("replay", 1, expect=4)
    check("library: recorded valid with latency 2707, now valid with 2708" in replayed.stdout, "a replay proves it")

    asked = json.loads(folder.run("ask", *TOY).stdout)
    check("references" not in asked["surface"], "a driver is not told")
    report = folder.json("report", 1)["workloads"][0]
    check_equal(report["baseline_name"], "library", "the report has its name")
    check_equal(report["ranking"], first["ranking"], "and the ranking")
    folder.run("report", 1, "-o", "report.html")
    with open(folder.path + "/report.html", encoding="utf-8") as stream:
        check("Against library" in stream.read(), "the page too")
