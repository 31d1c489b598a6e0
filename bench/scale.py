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


def started(suite, what):
    """spawn's children of that name."""
    return [p for p in children(suite.helper("spawn")) if name(p) == what]


def own(suite):
    """MiB of a session's init and worker, without the command. A spare init
    has none yet; a spare worker is like another."""
    inits = [pss(p) for p in started(suite, "sbx-init") if children(p)]
    workers = [pss(p) for p in started(suite, "sbx-worker")]
    return sum(inits) / len(inits) + sum(workers) / len(workers)


def rest(suite):
    """MiB of helpers and what they keep spare."""
    pids = [p for p in children(suite.process.pid)
            if name(p) in ("spawn", "netd", "mountd", "landd")]
    for p in list(pids):
        if name(p) == "mountd":
            pids += children(p)
    spare = [p for p in started(suite, "sbx-init") if not children(p)]
    workers = [pss(p) for p in started(suite, "sbx-worker")]
    return sum(map(pss, pids + spare)) + \
        len(spare) * sum(workers) / len(workers)


def idle(suite, project, table):
    n = 0
    for more in (1, LIVE - 1):
        sessions(suite, project, more)
        n += more
        time.sleep(1)
        table.add("an idle session, one of %d" % n, "MiB", [own(suite)],
                  limit=3)
    table.add("sbxd with %d sessions" % n, "MiB", [pss(suite.process.pid)],
              limit=8)
    table.add("its helpers and spares then", "MiB", [rest(suite)])


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
