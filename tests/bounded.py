#!/usr/bin/python3 -S
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command and ends it when it hangs, with all that it has started: status 124. What bounds it is no length of
# time, which a busy machine stretches, but either of two things since it began (or since FILE has last grown):
#   - for IDLE seconds on end its processes have used almost no processor time: it waits for something;
#   - its processes have used CPU seconds of processor time: it spins, which looks like work for ever otherwise.
# A machine that stands still for a while counts as one look at it. Otherwise the status is the command's, as a shell
# gives it. Called by tests/run_all.sh, tests/run_unit.sh, tests/mpi/run.sh and the laboratories.
#
# usage: bounded.py [--grows FILE] [--with PID,PID...] [--share SHARE] IDLE CPU COMMAND...
#   --with    processes that others have started and that work for the command, as virtual machines do: their time
#             counts, too, and they are not ended
#   --share   of a core, below which processor time counts as none
import ctypes
import os
import signal
import subprocess
import sys
import time

LOOK_S = 1.0
BUSY_SHARE = 0.01  # of one core, unless told otherwise: less is a thread that looks now and then whether it has something to do
GRACE_S = 5
PR_SET_CHILD_SUBREAPER = 36
TICKS = os.sysconf("SC_CLK_TCK")


def processes():
    """{pid: (parent, seconds used by it and by its children that have been waited for)}"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended
        found[int(pid)] = (int(fields[1]), sum(map(int, fields[11:15])) / TICKS)
    return found


beside = {}  # pid: seconds that it had used when it was last seen


def family():
    """Those that we have started and that live, and the seconds that they, the ended ones and those beside have used."""
    known = processes()
    for pid in beside.keys() & known.keys():
        beside[pid] = max(beside[pid], known[pid][1])
    children = {}
    for pid, (parent, _) in known.items():
        children.setdefault(parent, []).append(pid)
    members, left = [], list(children.get(os.getpid(), []))
    while left:
        pid = left.pop()
        members.append(pid)
        left += children.get(pid, [])
    ended = os.times()
    used = sum(known[pid][1] for pid in members) + sum(beside.values())
    return members, used + ended.children_user + ended.children_system


def reap(child):
    """Waits for whoever has ended, orphans too; the command's status when it is among them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            code = os.waitstatus_to_exitcode(how)
            status = code if code >= 0 else 128 - code


def wait_a_look(child):
    signal.sigtimedwait([signal.SIGCHLD], LOOK_S)
    return reap(child)


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end(child):
    tell(-child, signal.SIGTERM)
    tell(-child, signal.SIGCONT)
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until and family()[0]:
        wait_a_look(child)
    for pid in family()[0]:
        tell(pid, signal.SIGKILL)
    reap(child)


def size_of(path):
    try:
        return os.stat(path).st_size if path else 0
    except OSError:
        return 0


def watch(child, path, share, idle_limit_s, cpu_limit_s):
    size, idle_s, looked = size_of(path), 0.0, time.monotonic()
    before = since = family()[1]
    while True:
        status = wait_a_look(child)
        if status is not None:
            return status
        passed, looked = time.monotonic() - looked, time.monotonic()
        used = family()[1]
        if size_of(path) != size:
            size, idle_s, since = size_of(path), 0.0, used
        elif used - before < share * passed:
            idle_s += min(passed, 2 * LOOK_S)
        else:
            idle_s = 0.0
        before = used
        if idle_s >= idle_limit_s:
            return f"waits: no end, and nothing done for {idle_limit_s:g} s"
        if used - since >= cpu_limit_s:
            return f"spins: no end within {cpu_limit_s:g} s of processor time"


def main(words):
    path, share = None, BUSY_SHARE
    while words[0].startswith("--"):
        option, value, words = words[0], words[1], words[2:]
        if option == "--grows":
            path = value
        elif option == "--with":
            beside.update((int(pid), 0.0) for pid in value.split(","))
        elif option == "--share":
            share = float(value)
        else:
            print(f"{option}: no such option", file=sys.stderr)
            return 2
    idle_limit_s, cpu_limit_s, command = float(words[0]), float(words[1]), words[2:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        process = subprocess.Popen(command, start_new_session=True,
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD]))
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127

    def interrupted(number, _frame):
        end(process.pid)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupted)
    result = watch(process.pid, path, share, idle_limit_s, cpu_limit_s)
    if isinstance(result, str):
        print(f"{os.path.basename(command[0])} {result}", file=sys.stderr)
        end(process.pid)
        return 124
    return result


sys.exit(main(sys.argv[1:]))
