"""What an idle session costs, and how long a list takes."""

import os
import subprocess
import time

from common import PAIRS, SBXCTL, timed

KEPT = 1000
LIVE = 200
KIB = 1024
FEW = 5

# An embedded suite that nobody has used for so long has ended, in seconds.
ENDED = 4


def pss(pid):
    """Proportional set size, in MiB."""
    with open("/proc/%d/smaps_rollup" % pid) as f:
        for words in map(str.split, f):
            if words[0] == "Pss:":
                return int(words[1]) / KIB
    return 0


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def name(pid):
    with open("/proc/%d/comm" % pid) as f:
        return f.read().strip()


def sessions(suite, project, n):
    """n more that do nothing."""
    for _ in range(n):
        subprocess.run([SBXCTL, "new", "--", "sleep", "100000"],
                       env=suite.env, cwd=project, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True)


def own(suite):
    """init and worker of all sessions, and no command."""
    return [p for p in children(suite.helper("spawn"))
            if name(p) in ("sbx-init", "sbx-worker")]


def idle(suite, project, table):
    limit, n = 3, 0
    for more in (1, LIVE - 1):
        sessions(suite, project, more)
        n += more
        time.sleep(1)
        table.add("an idle session, one of %d" % n, "MiB",
                  [sum(map(pss, own(suite))) / n], limit=limit)
    table.add("sbxd with %d sessions" % n, "MiB", [pss(suite.process.pid)],
              limit=8)
    helpers = [p for p in children(suite.process.pid)
               if name(p) in ("spawn", "netd", "mountd", "landd")]
    table.add("its four helpers then", "MiB", [sum(map(pss, helpers))])


def run(scratch, table):
    mount = scratch.fresh("scale", "4G", 500000)
    project = os.path.join(mount, "project")
    os.mkdir(project)
    suite = scratch.suite(mount)
    idle(suite, project, table)
    suite.stop()

    suite = scratch.suite(mount, "kept")
    for _ in range(KEPT):
        subprocess.run([SBXCTL, "run", "--keep", "--", "true"], env=suite.env,
                       cwd=project, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
    table.add("ls of %d sessions" % KEPT, "ms",
              [timed([SBXCTL, "ls"], env=suite.env) for _ in range(PAIRS)],
              limit=50)
    table.add("ls --json of them", "ms",
              [timed([SBXCTL, "ls", "--json"], env=suite.env)
               for _ in range(PAIRS)])
    table.add("sbxd with %d ended ones" % KEPT, "MiB",
              [pss(suite.process.pid)], limit=8)
    suite.stop()
    first = []
    for _ in range(FEW):
        first.append(timed([SBXCTL, "ls"], env=suite.env))
        time.sleep(ENDED)
    table.add("ls of them, suite of its own", "ms", first, limit=50)
