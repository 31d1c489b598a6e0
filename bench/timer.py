#!/usr/bin/env python3
"""Runs what it is told on stdin, a JSON object a line, and says on stdout how
many ms each took. A process of its own, since python starts a program of
another user's by a fork that costs as much as some of what is measured."""

import json
import subprocess
import sys
import time

for line in sys.stdin:
    how = json.loads(line)
    time.sleep(how["settle"])
    start = time.monotonic()
    done = subprocess.run(how["command"], env=how["env"], cwd=how["cwd"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    ms = (time.monotonic() - start) * 1000
    print(json.dumps({"ms": ms, "status": done.returncode,
                      "said": done.stderr}), flush=True)
