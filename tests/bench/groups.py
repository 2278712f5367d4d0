#!/usr/bin/env python3
"""Time and memory of `mixstream fit --group` with 10,000 groups of fewer than 1,000 rows each, d = 4.

    groups.py MIXSTREAM [GROUPS [ROWS]]

Prints one JSON object: rows, groups, seconds of all and of the fits at the end, processor seconds, the largest resident memory in MiB, and
the groups' statuses. Ends with 1 beyond a GiB.
"""
import collections
import json
import random
import resource
import subprocess
import sys
import threading
import time

tool = sys.argv[1]
groups = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 999
KINDS = 50  # of groups, told apart by their rows


def block(seed):
    """The rows of a group of two laws; @ stands for its name."""
    made = random.Random(seed)
    lines = []
    for _ in range(rows):
        x = [made.gauss(0, 1) for _ in range(3)]
        law = (1, 2, -1, 0.5) if made.random() < 0.6 else (-2, -1, 1, 1)
        y = law[0] + sum(b * v for b, v in zip(law[1:], x)) + made.gauss(0, 0.2)
        lines.append("@," + ",".join(f"{number:.5g}" for number in (*x, y)) + "\n")
    return "".join(lines)


def write(stdin):
    blocks = [block(seed) for seed in range(min(KINDS, groups))]
    with stdin:
        stdin.write(b"g,a,b,c,y\n")
        for group in range(groups):
            stdin.write(blocks[group % len(blocks)].replace("@", f"pump{group:05}").encode())


began = time.monotonic()
fit = subprocess.Popen([tool, "fit", "-q", "-k", "2", "-y", "y", "-x", "1,a,b,c", "--group", "g", "--max-groups", str(groups), "-"],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
written = threading.Thread(target=write, args=(fit.stdin,))
written.start()
statuses, seen, first = collections.Counter(), 0, None
for line in fit.stdout:
    first = first or time.monotonic()
    report = json.loads(line)
    statuses[report["status"]] += 1
    seen += report["rows"]
written.join()
exit_code = fit.wait()
ended = time.monotonic()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
memory = used.ru_maxrss / 1024
print(json.dumps({"bench": "groups", "groups": sum(statuses.values()), "rows": seen, "seconds": round(ended - began, 1),
                  "seconds_of_fits": round(ended - first, 1) if first else None,
                  "processor_seconds": round(used.ru_utime + used.ru_stime, 1), "resident_mib": round(memory, 1),
                  "statuses": dict(statuses), "exit": exit_code}))
sys.exit(0 if seen == groups * rows and memory < 1024 else 1)
