"""A language model through the command line: a server on a loopback socket plays it. Both agents find verified
kernels; the run replays without a server; a killed run pays for nothing twice; the key is in no file."""
import json
import os
import signal
import subprocess
import sys
import time

from harness import SOURCE, Folder, check, check_equal

SERVER = sys.argv[5]
KEY = "sk-secret-of-the-test"


class Model:
    def __init__(self, *words):
        self.process = subprocess.Popen([SERVER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def policy(url, agent, *more):
    words = ["--set", f"policy.llm.base_url={url}", "--set", f"policy.llm.agent={agent}",
             "--set", "policy.llm.api_key_env=LLM_TEST_KEY"]
    for each in more:
        words += ["--set", "policy.llm." + each]
    return words


CASES = [("gemmini/gemm_c3.hlo", "", "naive", 12), ("gemmini/linear_c2.hlo", "", "accelopt", 12),
         ("plena/softmax_c2.hlo", "plena/softmax.toml", "naive", 10),
         ("plena/softmax_c2.hlo", "plena/softmax.toml", "accelopt", 10)]
os.environ["LLM_TEST_KEY"] = KEY

with Folder() as folder:
    model = Model("--mode", "good")
    for workload, contract, agent, evaluations in CASES:
        folder.remove_history()
        search = ["search", f"{SOURCE}/workloads/{workload}", "--target", workload.split("/")[0], "--policy", "llm",
                  "--evaluations", evaluations, "--no-export", *policy(model.url, agent)]
        if contract:
            search += ["--contract", f"{SOURCE}/workloads/{contract}"]
        what = f"{workload} {agent}"
        found = folder.json(*search)
        check(found["best"]["latency"] <= found["candidate0"]["latency"], f"{what}: a verified kernel")
        check(found["evaluations"] >= evaluations // 2, f"{what}: {found['evaluations']} evaluations")
        check(found["usage"]["requests"] > 0 and found["usage"]["prompt_tokens"] > 0, f"{what}: tokens are counted")
        whole = folder.canonical()
        trials = folder.json("show", 1, "--trials")["trials"]
        with open(folder.path + "/.zomboss/runs/1/llm.jsonl", encoding="utf-8") as stream:
            transcript = stream.read()
        check(KEY not in transcript and len(transcript) > 1000, f"{what}: a transcript, without the key")
        for directory, _, names in os.walk(folder.path):
            for name in names:
                with open(os.path.join(directory, name), "rb") as stream:
                    check_equal(KEY.encode() in stream.read(), False, f"{what}: the key is not in {name}")

        # Offline: nothing listens where the model was.
        offline = [word.replace(model.url, "http://127.0.0.1:9/v1") if isinstance(word, str) else word for word in search]
        strict = offline + ["--set", "policy.llm.mode=replay", "--set",
                            f"policy.llm.transcript={folder.path}/.zomboss/runs/1/llm.jsonl"]
        again = folder.json(*strict, "--history", "again.db")
        check_equal(again["best"], found["best"], f"{what}: replayed offline, the same incumbent")
        check_equal(folder.json("show", 1, "--trials", "--history", "again.db")["trials"], trials,
                    f"{what}: and the same evaluations")
        os.remove(folder.path + "/again.db")

        # Killed in the middle, resumed: the same history.
        folder.remove_history()
        process = folder.start(*search)
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if os.path.exists(folder.path + "/.zomboss/history.db") and folder.json("runs")["runs"]:
            folder.run("resume", 1)
            check_equal(folder.canonical(), whole, f"{what}: killed and resumed, the same history")
    model.stop()

    # A server with every fault that servers have.
    flaky = Model("--mode", "flaky")
    folder.remove_history()
    found = folder.json("search", f"{SOURCE}/workloads/gemmini/gemm_c2.hlo", "--policy", "llm", "--evaluations", 8,
                        "--no-export", *policy(flaky.url, "naive"))
    check(found["evaluations"] > 0 and found["usage"]["malformed"] > 0, "flaky: it goes on, and counts what was malformed")
    flaky.stop()

    # Budgets of tokens end a search by name; a key over plain http to a stranger is refused.
    model = Model("--mode", "good")
    folder.remove_history()
    found = folder.json("search", f"{SOURCE}/workloads/gemmini/gemm_c2.hlo", "--policy", "llm", "--tokens", 30000,
                        "--no-export", *policy(model.url, "naive"))
    check("token" in found["stop_reason"], "a token budget ends it: " + found["stop_reason"])
    model.stop()
    refused = folder.run("search", f"{SOURCE}/workloads/gemmini/gemm_c2.hlo", "--policy", "llm", "--no-export",
                         *policy("http://example.org/v1", "naive"), expect=None)
    check(refused.returncode != 0 and "http" in refused.stdout + refused.stderr and KEY not in refused.stdout + refused.stderr,
          "the key is not sent over plain http to another host")
