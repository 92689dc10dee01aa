#!/usr/bin/python3 -S
# SPDX-License-Identifier: BSD-3-Clause
#
# Do the unit tests notice a fault? Each mutant of tests/mutants/list.txt is one small fault, put into a copy of the tree:
# the programs named for it are built anew, as far as it changes them, and one of them has to fail. First all of them
# have to pass without any fault. A mutant that survives, that no longer fits the source, or that does not compile is a
# failure. Arguments choose mutants by parts of their names; --check looks only whether all of them still fit. Called by
# `make mutants`, and --check by `make check-style`.
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
IDLE_S, CPU_S = "30", "100"  # of a test program (tests/bounded.py); the longest takes a minute
SETTINGS = ["CFLAGS=-O1", "LTO=", "V=0"]  # a copy of its own compiles sooner without what the library is linked with


def read_mutants():
    """[{name, file, old, new, tests}]; what the list does not say so is an error."""
    mutants = []
    with open(os.path.join(HERE, "list.txt"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            word, _, rest = line.strip().partition(" ")
            if word == "mutant":
                mutants.append({"name": rest})
            elif word in ("file", "old", "new", "tests") and mutants and word not in mutants[-1]:
                mutants[-1][word] = rest.split() if word == "tests" else rest
            elif word and not word.startswith("#"):
                sys.exit(f"list.txt:{number}: what is '{word}'?")
    for mutant in mutants:
        if set(mutant) != {"name", "file", "old", "new", "tests"}:
            sys.exit(f"list.txt: {mutant['name']} needs file, old, new and tests, one of each")
    if len({mutant["name"] for mutant in mutants}) != len(mutants):
        sys.exit("list.txt: two mutants have one name")
    return mutants


def copy_tree(to):
    """What git knows and what it would be told of, with its times: what is built once stays built."""
    files = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=TOP, check=True, capture_output=True)
    for name in filter(None, files.stdout.decode().split("\0")):
        source, target = os.path.join(TOP, name), os.path.join(to, name)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)


def build(tree, tests):
    programs = [f"build/tests/unit/{test}_test" for test in tests]
    made = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *SETTINGS, *programs], cwd=tree, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return made.returncode == 0, made.stdout


def first_failure(tree, tests):
    """The first of them that fails, or None."""
    for test in tests:
        ran = subprocess.run(["python3", "-S", "tests/bounded.py", IDLE_S, CPU_S, f"build/tests/unit/{test}_test"],
                             cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if ran.returncode not in (0, 77):
            return test
    return None


def fit(tree, mutant):
    """The file as it is, or None and why the mutant does not fit."""
    try:
        with open(os.path.join(tree, mutant["file"]), encoding="utf-8") as file:
            right = file.read()
    except OSError as error:
        return None, f"no longer applies: {error.strerror}: {mutant['file']}"
    places = right.count(mutant["old"])
    if places != 1:
        return None, f"no longer applies: {mutant['file']} has its line {places} times"
    return right, None


def try_mutant(tree, mutant):
    """Whether it was found out, and what to say of it."""
    path = os.path.join(tree, mutant["file"])
    right, why = fit(tree, mutant)
    if right is None:
        return False, why
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(right.replace(mutant["old"], mutant["new"]))
        built, said = build(tree, mutant["tests"])
        if not built:
            return False, "does not compile:\n" + said
        failed = first_failure(tree, mutant["tests"])
        return failed is not None, f"killed by {failed}_test" if failed else "SURVIVED " + " ".join(mutant["tests"])
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(right)


def check():
    passed = failed = 0
    for mutant in read_mutants():
        right, why = fit(TOP, mutant)
        passed, failed = passed + (right is not None), failed + (right is None)
        if right is None:
            print(f"  {mutant['name']}: {why}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


def main(chosen):
    mutants = [mutant for mutant in read_mutants() if not chosen or any(word in mutant["name"] for word in chosen)]
    if not mutants:
        sys.exit("no mutant has such a name")
    names = sorted({test for mutant in mutants for test in mutant["tests"]})
    tree = tempfile.mkdtemp(prefix="castoff-mutants.")
    passed = failed = 0
    try:
        copy_tree(tree)
        built, said = build(tree, names)
        broken = first_failure(tree, names) if built else None
        if not built or broken:
            print(said if not built else f"{broken}_test fails without any mutant")
            print(f"0 passed, {len(mutants)} failed, 0 skipped")
            return 1
        for mutant in mutants:
            began = time.monotonic()
            found_out, word = try_mutant(tree, mutant)
            passed, failed = passed + found_out, failed + (not found_out)
            print(f"  {mutant['name']:<44} {time.monotonic() - began:5.1f} s  {word}", flush=True)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    # Nothing of the calling make: its job server, and sanitizers of the command line. Nor settings of the caller.
    for variable in [name for name in os.environ if name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SAN", "DEV", "CI") or
                     name.startswith("CASTOFF_")]:
        del os.environ[variable]
    sys.exit(check() if sys.argv[1:] == ["--check"] else main(sys.argv[1:]))
