# SPDX-License-Identifier: BSD-3-Clause
# Which conditions does a report not meet? Called by run.sh with the JSON file, and the conditions one on a line: each
# is Python about the report's keys. Prints those that do not hold, in one line.
import json
import sys

try:
    report = json.load(open(sys.argv[1]))
except (OSError, ValueError) as error:
    sys.exit(print("unusable:", error))


def holds(condition):
    try:
        return eval(condition, {}, report)
    except (KeyError, NameError, TypeError, SyntaxError) as error:
        print("no", error, end=" in ")


print(*[line for line in sys.argv[2].splitlines() if line and not holds(line)], sep="; ")
