"""Terminal bytes against a directly read pty, and the echo of a keystroke
while another session writes as fast as it can."""

import os
import pty
import select
import statistics
import subprocess
import sys
import time
import tty

from common import SBXCTL, interleave

MIB = 1 << 20
BYTES = 200 * 1000 * 1000
ECHOES = 1000


def on_pty(command, env=None, cwd=None):
    """(pid, master): the command on a raw terminal of its own."""
    pid, master = pty.fork()
    if pid == 0:
        tty.setraw(0)
        if cwd:
            os.chdir(cwd)
        os.execvpe(command[0], command, env or os.environ)
    return pid, master


def drain(master):
    """Reads to the end; the number of bytes."""
    total = 0
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # EIO: the last holder of the other side is gone
            return total
        if not data:
            return total
        total += len(data)


def rate(command, env=None, cwd=None):
    """MB/s of the whole command."""
    start = time.monotonic()
    pid, master = on_pty(command, env, cwd)
    total = drain(master)
    seconds = time.monotonic() - start
    os.close(master)
    os.waitpid(pid, 0)
    if total < BYTES:
        sys.exit("bench: %d bytes came of %d: %s" % (total, BYTES, command))
    return total / seconds / 1e6


def cpu(pid):
    """Seconds of processor time, user and system."""
    with open("/proc/%d/stat" % pid) as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def echoes(master):
    """ms from each keystroke to its echo."""
    result = []
    for i in range(ECHOES):
        key = b"abcdefghij"[i % 10:i % 10 + 1]
        start = time.monotonic()
        os.write(master, key)
        seen = b""
        while key not in seen:
            if not select.select([master], [], [], 10)[0]:
                sys.exit("bench: no echo in ten seconds")
            seen += os.read(master, 4096)
        result.append((time.monotonic() - start) * 1000)
        time.sleep(0.002)
    return result


def p99(values):
    return statistics.quantiles(values, n=100)[98]


def echo(suite, project, table):
    pid, master = on_pty([SBXCTL, "run", "--keep", "--", "sh", "-c",
                          "stty sane -icanon; echo ready; exec cat >/dev/null"],
                         suite.env, project)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(master, 4096)
    idle = [p99(echoes(master)) for _ in range(5)]
    other = subprocess.Popen(
        [SBXCTL, "run", "--keep", "--", "cat", "/dev/zero"], env=suite.env,
        cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(1)
    busy = [p99(echoes(master)) for _ in range(5)]
    other.terminate()
    other.wait()
    os.write(master, b"\x03")
    drain(master)
    os.close(master)
    os.waitpid(pid, 0)
    table.add("p99 of an echo, another writes", "ms", busy, idle, "idle", 3)


def run(scratch, table):
    mount = scratch.fresh("terminal")
    project = os.path.join(mount, "project")
    os.mkdir(project)
    with open(os.path.join(project, "big"), "wb") as f:
        for _ in range(BYTES // 1000000):
            f.write(os.urandom(750000).hex().encode()[:999999] + b"\n")
    suite = scratch.suite(mount)
    big = ["cat", "big"]
    before = cpu(suite.process.pid)
    inside = [SBXCTL, "run", "--raw", "--"] + big
    ours, theirs = interleave(
        lambda: rate(inside, suite.env, project),
        lambda: rate(big, None, project))
    used = (cpu(suite.process.pid) - before) / (len(ours) + 1) * 1000
    table.add("terminal bytes", "MB/s", ours, theirs, "pty", 0.8, low=True)
    table.add("sbxd's time for 200 MB", "ms", [used], limit=20)
    echo(suite, project, table)
