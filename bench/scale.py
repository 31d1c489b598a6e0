"""What an idle session costs, and how long a list takes."""

import os
import subprocess
import time

from common import PAIRS, SBXCTL, timed

SESSIONS = 1000
KIB = 1024


def pss(pid):
    """Proportional set size, in MiB."""
    with open("/proc/%d/smaps_rollup" % pid) as f:
        for words in map(str.split, f):
            if words[0] == "Pss:":
                return int(words[1]) / KIB
    return 0


def pids(name):
    out = subprocess.run(["pgrep", "-x", name], capture_output=True,
                         text=True)
    return [int(p) for p in out.stdout.split()]


def idle(suite, project, table):
    known = set(pids("sbx-worker") + pids("sbx-init"))
    live = [subprocess.Popen([SBXCTL, "run", "--", "sleep", "60"],
                             env=suite.env, cwd=project,
                             stdin=subprocess.DEVNULL)
            for _ in range(10)]
    time.sleep(1)
    own = [p for p in pids("sbx-worker") + pids("sbx-init")
           if p not in known]
    table.add("an idle session's own processes", "MiB",
              [sum(map(pss, own)) / len(live)], limit=3)
    table.add("sbxd with ten sessions", "MiB", [pss(suite.process.pid)],
              limit=8)
    for process in live:
        process.terminate()
    for process in live:
        process.wait()


def run(scratch, table):
    mount = scratch.fresh("scale", "4G", 500000)
    project = os.path.join(mount, "project")
    os.mkdir(project)
    suite = scratch.suite(mount)
    idle(suite, project, table)
    for _ in range(SESSIONS):
        subprocess.run([SBXCTL, "run", "--keep", "--", "true"], env=suite.env,
                       cwd=project, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
    table.add("ls of %d sessions" % SESSIONS, "ms",
              [timed([SBXCTL, "ls"], env=suite.env) for _ in range(PAIRS)],
              limit=50)
    table.add("sbxd with %d ended ones" % SESSIONS, "MiB",
              [pss(suite.process.pid)])
