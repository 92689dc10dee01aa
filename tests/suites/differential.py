#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs each test of a built MPICH test suite on native MPI and, where it passes, with castoff in several modes.

A test that passes natively must pass with castoff, too, and print the same. Where it does not, native runs again and
again: what fails there as well is not castoff's. Then castoff does: what never fails again is listed as unsure. Called
by mpich_suite.sh; reads the suite's own lists of tests, copies nothing of it."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

CALLS = ("P2P", "BCAST", "IBCAST", "ALLGATHER", "IALLGATHER", "ALLGATHERV", "IALLGATHERV", "BCAST_INIT", "ALLGATHER_INIT",
         "ALLGATHERV_INIT")
EVERYTHING = {f"CASTOFF_{call}": "yes" for call in CALLS}
MPICH_LACKS = ("CASTOFF_P2P",)  # which is its own there, and the report of that would be other output
MODES = {
    "default": {},
    "p2p": {"CASTOFF_P2P": "yes"},
    "all": EVERYTHING,
    "threads": EVERYTHING | {"CASTOFF_PROGRESS": "threads", "CASTOFF_WORKERS": "2", "CASTOFF_MATCH_LANES": "2"},
    "narrow": EVERYTHING | {"CASTOFF_P2P_EAGER": "64", "CASTOFF_P2P_STREAM": "0", "CASTOFF_P2P_CREDIT": "64K",
                            "CASTOFF_P2P_BUFFER": "0", "CASTOFF_P2P_MEMORY": "1M", "CASTOFF_MATCH_TABLE": "16",
                            "CASTOFF_MATCH_BINS": "1", "CASTOFF_SHM_SINGLE_COPY": "no"},
    "nodes": EVERYTHING | {"CASTOFF_NODE_RANKS": "1", "CASTOFF_UDP_INTERFACE": "lo"},
}
# Room for ranks that are spawned, too, which native MPI hangs without; more of them than cores all the same. Windows of
# one rank fail with Debian's ucx.
MPIRUN = "--oversubscribe --host localhost:64 --mca mpi_yield_when_idle 1 --mca osc ^ucx --bind-to none".split()
LISTS = ("testlist", "testlist.cvar")
LONG_LISTS = ("testlist.dtp",)  # the same programs with many datatypes each: hours
MPICH_MPIRUN = ["mpiexec.mpich"]
NATIVE_AGAIN = 20
CASTOFF_AGAIN = 5
UNSURE = "once"

Test = collections.namedtuple("Test", "folder program ranks arguments verdict limit")
Run = collections.namedtuple("Run", "outcome output seconds taken", defaults=({},))


def read_lists(options):
    """All tests of the suite's lists, each once: entries that differ only in settings of another MPI are one test."""
    tests, seen = [], set()

    def add(folder, words):
        named = dict(word.split("=", 1) for word in words[2:] if "=" in word)
        arguments = tuple(word[len("arg="):] for word in words[2:] if word.startswith("arg="))
        ranks = int(words[1]) if len(words) > 1 and words[1].isdigit() else 2
        limit = min(int(named.get("timeLimit", options.limit)), options.limit)
        program = folder / words[0]
        key = (program, ranks, arguments)
        if key in seen:
            return
        seen.add(key)
        test = Test(str(program.parent), program.name, min(ranks, options.max_ranks), arguments,
                    named.get("resultTest", ""), limit)
        if float(named.get("mem", 0)) <= options.memory and selected(test, options.filters):
            tests.append(test)

    def walk(folder):
        for name in LONG_LISTS if options.long else LISTS:
            # A list that configure made is in the build, the others beside their tests.
            there = [top / folder / name for top in (options.build, options.source) if (top / folder / name).exists()]
            for line in there[0].read_text().splitlines() if there else ():
                words = line.split("#")[0].split()
                if not words or words[0].startswith("!"):
                    continue
                if (options.source / folder / words[0]).is_dir():
                    walk(folder / words[0])
                else:
                    add(folder, words)

    for folder in options.folders.split():
        walk(pathlib.Path(folder))
    return tests


def selected(test, filters):
    name = f"{test.folder}/{test.program}"
    return not filters or any(word in name for word in filters)


def label(test):
    return " ".join([f"{test.folder}/{test.program}", str(test.ranks), *test.arguments])


class Runner:
    def __init__(self, options):
        self.options = options
        self.serial = 0
        self.lock = threading.Lock()
        self.files = threading.Lock()  # tests of files share names
        self.running = set()
        self.broken_off = False

    def sweep(self, mark):
        """Kills what a run has left: processes whose environment has its mark."""
        wanted = f"SUITE_RUN={mark}".encode()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                pass

    def stop(self, _signal, _frame):
        self.broken_off = True
        for process in list(self.running):
            process.terminate()

    def command(self, test, mode):
        ranks, program = ["-n", str(test.ranks)], [f"./{test.program}", *test.arguments]
        castoff = [] if mode == "native" else [str(self.options.castoff)]
        if self.options.family == "mpich":
            return [*MPICH_MPIRUN, *ranks, *castoff, *(["run"] if castoff else []), *program]
        return [*castoff, "mpirun", *MPIRUN, *ranks, *program]

    def run(self, test, mode):
        if self.broken_off:
            return Run("not run", "", 0)
        with self.lock:
            self.serial += 1
            mark = f"{os.getpid()}.{self.serial}"
        scratch = self.options.scratch / mark
        scratch.mkdir()
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("CASTOFF_") and name != "LD_PRELOAD"}
        environment |= {"SUITE_RUN": mark, "OMPI_MCA_orte_tmpdir_base": str(scratch)}
        if self.options.preload:
            environment["LD_PRELOAD"] = str(self.options.preload.resolve())
        if mode != "native":
            environment |= {name: value for name, value in MODES[mode].items()
                            if self.options.family != "mpich" or name not in MPICH_LACKS}
            environment["CASTOFF_REPORT"] = str(scratch / "report.json")
        command = self.command(test, mode)
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=self.options.build / test.folder, env=environment, text=True,
                                   errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        self.running.add(process)
        try:
            output, _ = process.communicate(timeout=test.limit)
            outcome = judge(test, process.returncode, output)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                output, _ = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                self.sweep(mark)
                process.kill()
                output, _ = process.communicate()
            outcome = f"no end within {test.limit} s"
        self.running.discard(process)
        seconds = time.monotonic() - start
        self.sweep(mark)
        taken = calls_taken(scratch / "report.json")
        subprocess.run(["rm", "-rf", scratch], check=False)
        return Run(outcome, output, seconds, taken)

    def until_failure(self, test, mode, times):
        """The first of so many runs that fails."""
        runs = (self.run(test, mode) for _ in range(times))
        return next((run for run in runs if run.outcome != "pass"), None)

    def compare(self, test, modes):
        """Native first; what passes there, in all modes. Gives the runs by mode."""
        if not (self.options.build / test.folder / test.program).exists():
            return test, {"native": Run("not built", "", 0)}
        guard = self.files if "io" in test.folder.split("/") else threading.Lock()
        with guard:
            runs = {"native": self.run(test, "native")}
            if runs["native"].outcome != "pass":
                return test, runs
            for mode in modes:
                runs[mode] = self.run(test, mode)
                if runs[mode].outcome == "pass":
                    continue
                again = self.until_failure(test, "native", NATIVE_AGAIN)
                if again:
                    runs["native"] = again._replace(outcome=f"now and then {again.outcome}")
                    break
                if not self.until_failure(test, mode, CASTOFF_AGAIN):
                    runs[mode] = runs[mode]._replace(outcome=f"{UNSURE} {runs[mode].outcome}")
        return test, {} if self.broken_off else runs


def calls_taken(report):
    """How many of each collective castoff took; of a test that ends early nobody knows."""
    try:
        calls = json.loads(report.read_text())["calls"]
    except (OSError, ValueError, KeyError):
        return {}
    return {name: call["taken"] for name, call in calls.items() if call["taken"] > 0}


def judge(test, status, output):
    """The verdict of the suite's own rules: status and the words that it expects."""
    expected = test.verdict
    if status < 0:
        return f"signal {-status}"
    if expected in ("TestStatus", "TestErrFatal", "TestStatusNoErrors") and status == 0:
        return "status 0"
    if not expected and status != 0:
        return f"status {status}"
    if expected in ("TestStatus", "TestErrFatal"):
        return "pass"
    words = [line.strip() for line in output.splitlines() if line.strip()]
    good = [line for line in words if re.fullmatch(r"No [Ee]rrors|Test Passed|FORTRAN STOP", line)]
    if not any(line.lower() == "no errors" for line in good):
        return "does not say No Errors"
    if not expected and len(good) != len(words):
        return "other output"
    return "pass"


def differs(runs):
    """The modes in which a test fails that passes natively."""
    if not runs or runs["native"].outcome != "pass":
        return []
    return [mode for mode, run in runs.items() if run.outcome != "pass"]


def table(results, modes):
    """Lines of the table of folders."""
    rows = collections.OrderedDict()
    for test, runs in results:
        row = rows.setdefault(test.folder.split("/")[0], collections.Counter())
        row["listed"] += 1
        for mode, run in runs.items():
            row[mode] += run.outcome == "pass"
        row["differ"] += differs(runs) != []
    columns = ["listed", "native", *modes, "differ"]
    lines = [f"{'folder':12}" + "".join(f"{name:>9}" for name in columns)]
    for name, row in [*rows.items(), ("all", sum(rows.values(), collections.Counter()))]:
        lines.append(f"{name:12}" + "".join(f"{row[column]:9}" for column in columns))
    return lines


def taken_lines(results, modes):
    """What the tests were about: without it nobody would notice that all calls went to native."""
    for mode in modes:
        taken = collections.Counter()
        for _, runs in results:
            taken.update(runs[mode].taken if mode in runs else {})
        said = ", ".join(f"{name} {number}" for name, number in sorted(taken.items()))
        yield f"taken in {mode}: {said or 'nothing'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="where the suite was built")
    parser.add_argument("--source", type=pathlib.Path, required=True, help="where its lists are")
    parser.add_argument("--castoff", type=pathlib.Path, required=True, help="the castoff command")
    parser.add_argument("--scratch", type=pathlib.Path, required=True, help="an empty folder for sessions")
    parser.add_argument("--log", type=pathlib.Path, required=True, help="folder for outputs and results.json")
    parser.add_argument("--folders", required=True, help="folders of the suite, in this order")
    parser.add_argument("--modes", default="default p2p", help=f"of {' '.join(MODES)}")
    parser.add_argument("--family", default="open_mpi", choices=("open_mpi", "mpich"), help="the MPI that it was built for")
    parser.add_argument("--preload", type=pathlib.Path, help="a library for all programs, native ones too")
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a test")
    parser.add_argument("--max-ranks", type=int, default=16, help="tests of more ranks run with so many")
    parser.add_argument("--memory", type=float, default=8, help="tests that need more GB are left out")
    parser.add_argument("--long", action="store_true", help="the lists of many datatypes instead: hours")
    parser.add_argument("filters", nargs="*", help="only tests with one of these in their names")
    options = parser.parse_args()
    for folder in ("build", "source", "castoff", "scratch", "log"):
        setattr(options, folder, getattr(options, folder).resolve())
    modes = options.modes.split()
    options.log.mkdir(parents=True, exist_ok=True)
    runner, results = Runner(options), []
    tests = read_lists(options)

    signal.signal(signal.SIGINT, runner.stop)
    signal.signal(signal.SIGTERM, runner.stop)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.log / "results.jsonl", "w") as log:
        for done in concurrent.futures.as_completed([pool.submit(runner.compare, test, modes) for test in tests]):
            test, runs = done.result()
            results.append((test, runs))
            said = "  ".join(f"{mode} {run.outcome} {run.seconds:.1f}" for mode, run in runs.items())
            print(f"{label(test)}: {said}", flush=True)
            log.write(json.dumps([label(test), {mode: run._asdict() for mode, run in runs.items()}]) + "\n")
            log.flush()
    results.sort(key=lambda result: tests.index(result[0]))
    print("\n".join([*table(results, modes), *taken_lines(results, modes)]))
    failed = 0
    for test, runs in results:
        for mode in differs(runs):
            sure = not runs[mode].outcome.startswith(UNSURE)
            failed += sure
            print(f"{'DIFFERS' if sure else 'UNSURE'}: {label(test)}, {mode}: {runs[mode].outcome}")
    passed = sum(run.outcome == "pass" for _, runs in results for mode, run in runs.items() if mode != "native")
    skipped = sum(not runs or runs["native"].outcome != "pass" for _, runs in results)
    if runner.broken_off:
        print("interrupted")
        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
