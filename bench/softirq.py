#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""softirq.py USED TRACE | USED --apart SECONDS: the lines of USED ("used ROLE NAME user system wall from to"), with the softirq time of their role.

TRACE is what a kernel that traces irq:softirq_entry and irq:softirq_exit by the monotonic clock has written. A softirq runs in
the middle of whatever had the processor: what ran in threads named cost-ROLE is that role's, what ran in ksoftirqd or
while a processor was idle belongs to nobody. Prints for each role seen, mean over its processes:
  ROLE processes user system softirq wall
where system is without softirq, and for the whole machine `nobody 1 0 0 softirq wall`. With --apart there is no trace:
softirqs of who was interrupted stay in its system time, and SECONDS are those that ksoftirqd has taken.
"""
import re
import sys

EVENT = re.compile(r"^\s*(.*)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+\.\d+): softirq_(entry|exit): vec=(\d+)")


def read_used(path):
    """{role: [(user, system, wall)]}, first moment, last moment."""
    roles, start, end = {}, None, None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.split()
            if len(words) == 8 and words[0] == "used":
                user, system, wall, first, last = map(float, words[3:])
                roles.setdefault(words[1], []).append((user, system, wall))
                start = first if start is None else min(start, first)
                end = last if end is None else max(end, last)
    return roles, start, end


def read_softirq(path, start, end):
    """Seconds by name of the thread that was interrupted."""
    sums, open_since = {}, {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            event = EVENT.match(line)
            if event is None:
                continue
            name, _, processor, moment, kind, _ = event.groups()
            moment = float(moment)
            if kind == "entry":
                open_since[processor] = moment
            elif processor in open_since:
                begun = max(open_since.pop(processor), start)
                sums[name] = sums.get(name, 0.0) + max(min(moment, end) - begun, 0.0)
    return sums


def main():
    roles, start, end = read_used(sys.argv[1])
    if not roles:
        sys.exit("softirq.py: nothing was used")
    sums = {"ksoftirqd": float(sys.argv[3])} if sys.argv[2] == "--apart" else read_softirq(sys.argv[2], start, end)
    for role, processes in roles.items():
        count = len(processes)
        user, system, wall = (sum(column) / count for column in zip(*processes))
        softirq = sums.get("cost-" + role, 0.0) / count
        print(f"{role} {count} {user:.4f} {max(system - softirq, 0.0):.4f} {softirq:.4f} {wall:.4f}")
    nobody = sum(seconds for name, seconds in sums.items() if name.startswith("ksoftirqd") or name == "<idle>")
    print(f"nobody 1 0 0 {nobody:.4f} {end - start:.4f}")


main()
