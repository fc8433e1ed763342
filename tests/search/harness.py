"""What the tests of whole searches share: a scratch folder, the program, its answers."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM, PLUGINS, TEST_PLUGINS, SOURCE = sys.argv[1:5]
ADD = """HloModule add
ENTRY main {
  a = s32[64] parameter(0)
  b = s32[64] parameter(1)
  ROOT c = s32[64] add(a, b)
}
"""


class Folder:
    """A scratch folder with the workload of the `trouble` target; removed at the end."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="zomboss_search_")
        self.write("add.hlo", ADD)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as stream:
            stream.write(text)

    def environment(self):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("ZB_", "XDG_"))}
        return dict(keep, HOME=self.path, ZB_PLUGIN_PATH=TEST_PLUGINS + ":" + PLUGINS)

    def start(self, *words, **options):
        return subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.path, env=self.environment(), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *words, expect=0, stdin="", **options):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.path, env=self.environment(), text=True,
                              input=stdin, capture_output=True, timeout=280, check=False, **options)
        if expect is not None and done.returncode != expect:
            raise AssertionError(f"zomboss {' '.join(map(str, words))}: exit {done.returncode}, expected {expect}\n"
                                 f"{done.stdout}\n{done.stderr}")
        return done

    def json(self, *words, **options):
        return json.loads(self.run(*words, "--json", **options).stdout)

    def canonical(self, run=1, **options):
        return self.run("show", run, "--canonical", **options).stdout

    def remove_history(self):
        shutil.rmtree(os.path.join(self.path, ".zomboss"), ignore_errors=True)


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what)


def check_equal(one, two, what):
    if one != two:
        raise AssertionError(f"{what}: not equal:\n--- one\n{one}\n--- two\n{two}")
    print("ok:", what)
