#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""put_runs.py <MEASUREMENTS >WITH_RUNS: adds to the table of docs/measurements.md what the runs kept in bench/runs.tsv say.

A column tells how many of the last ten runs of each figure reached it, the range of its numbers over all runs kept, and
the processors they ran on. A figure is called reached when nine of ten of the last ten did: of fewer than ten, all. Runs
count whose criterion is the present one, notes in parentheses apart. Runs over another MPI than the table's (figures "M17
MPICH 4.0.2") have a table of their own. The list of what is not reached follows, with the reasons of bench/reasons.txt. A table that
has the column already gets it anew. Called by bench/write_measurements.sh.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.abspath(__file__))
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
LAST = 10


def plain(text):
    """Without notes in parentheses."""
    return re.sub(r"\s*\([^()]*\)", "", text).strip()


def kept_runs(path):
    """The fields of each run, oldest first."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        runs = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    return [fields for fields in runs if len(fields) == 7]


def by_figure(kept):
    """[(verdict, castoff's value, criterion, machine)] by figure, oldest first."""
    runs = {}
    for _, _, machine, figure, verdict, value, criterion in kept:
        runs.setdefault(figure, []).append((verdict, value, plain(criterion), machine))
    return runs


def shape(value):
    return NUMBER.sub("#", value)


def value_range(values):
    """Each number of the last value as "least to most" of all values that read like it."""
    alike = [value for value in values if shape(value) == shape(values[-1])]
    if len(alike) < 2:
        return ""
    columns = iter(zip(*(NUMBER.findall(value) for value in alike)))

    def both_ends(_):
        numbers = next(columns)
        least, most = min(numbers, key=float), max(numbers, key=float)
        return least if float(least) == float(most) else f"{least} to {most}"

    return "; " + NUMBER.sub(both_ends, values[-1])


def judge(cells, runs):
    """Cells of a row with the column of runs, and the verdict by them."""
    figure, _, _, _, criterion = cells[:5]
    verdict = cells[-1].strip("*")
    mine = [run for run in runs.get(figure, []) if run[2] == plain(criterion)]
    text = "none kept"
    if mine:
        last = mine[-LAST:]
        reached = sum(run[0] == "reached" for run in last)
        machines = "; ".join(dict.fromkeys(run[3] for run in mine))
        text = f"{reached} of {len(last)}{value_range([plain(run[1]) for run in mine])} ({machines})"
        if verdict != "not measured":
            verdict = "reached" if 10 * (len(last) - reached) <= len(last) else "not reached"
    return cells[:5] + [text, verdict if verdict == "reached" else f"**{verdict}**"], verdict


def table_of_others(kept):
    """Of each figure over another MPI the last run."""
    last = {fields[3]: fields for fields in kept if re.fullmatch(r"M\d+ .+", fields[3])}
    if not last:
        return ""
    by_name = sorted(last.values(), key=lambda fields: (int(fields[3].split(" ")[0][1:]), fields[3]))
    rows = [
        f"| {figure} | {value} | {criterion} | {verdict if verdict == 'reached' else f'**{verdict}**'} | {date}, {commit}, {machine} |\n"
        for date, commit, machine, figure, verdict, value, criterion in by_name
    ]
    return (
        "Over other MPIs\n\nThe last run of each, against that MPI's own choice (`FAMILY=mpich bench/all.sh build M1 M12 M15 M16 M17`; on a machine"
        "\nwith Open MPI 5 without FAMILY). Over MPICH messages are its own: castoff does not take them.\n\n"
        "| figure, MPI | castoff | to reach | | date, commit, machine |\n| --- | --- | --- | --- | --- |\n" + "".join(rows)
    )


def read_reasons(path):
    with open(path, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split(" ", 1) for line in lines if re.match(r"M\d+ ", line))


def main():
    kept = kept_runs(os.path.join(TOP, "runs.tsv"))
    runs = by_figure(kept)
    reasons = read_reasons(os.path.join(TOP, "reasons.txt"))
    table, end, rest = sys.stdin.read().partition("\n## ")
    lines, missed = [], []
    for line in table.split("\n"):
        if line.startswith("| figure |"):
            line = "| figure | what | stock | castoff | to reach | runs that reached it; range | |"
        elif line.startswith("| --- |"):
            line = "| --- " * 7 + "|"
        elif re.match(r"\| M\d+ \|", line):
            cells, verdict = judge([cell.strip() for cell in line[2:-2].split(" | ")], runs)
            line = "| " + " | ".join(cells) + " |"
            if verdict != "reached":
                missed.append(f"- {cells[0]}: {reasons.get(cells[0], 'no reason found yet')}\n")
        lines.append(line)
    rest = re.sub(r"(?s)^Over other MPIs\n.*?\n## ", "", rest)
    others = table_of_others(kept)
    missed_lines = (others + "\n## " if others else "") + "Not reached\n\n" + "".join(missed)
    rest = re.sub(r"(?s)^Not reached\n.*?(?=\n## |\Z)", lambda _: missed_lines, rest)
    sys.stdout.write("\n".join(lines) + end + rest)


main()
