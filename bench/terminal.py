"""Terminal bytes against a directly read pty, and the echo of a keystroke
while another session writes as fast as it can."""

import os
import pty
import select
import statistics
import subprocess
import sys
import time

from common import SBXCTL, interleave

PAIR_BYTES = 50 * 1000 * 1000
BYTES = 200 * 1000 * 1000
BATCHES = 10
ECHOES = 100


def on_pty(command, env=None, cwd=None):
    """(pid, master): the command on a terminal as an emulator gives it."""
    pid, master = pty.fork()
    if pid == 0:
        if cwd:
            os.chdir(cwd)
        os.execvpe(command[0], command, env or os.environ)
    return pid, master


def read(master):
    try:
        return os.read(master, 65536)
    except OSError:  # EIO: the last holder of the other side is gone
        return b""


def drain(master):
    """Reads to the end: (bytes, seconds) from the first ones that came to the
    last, so that a start, which has rows of its own, does not count."""
    first = last = None
    total = 0
    while True:
        data = read(master)
        if not data:
            break
        last = time.monotonic()
        if first is None:
            first = last
        else:
            total += len(data)
    return total, last - first if total else 0


def until(master, text):
    seen = b""
    while text not in seen:
        data = read(master)
        if not data:
            sys.exit("bench: the terminal ended before %r: %r" % (text, seen))
        seen += data


def ended(pid, master):
    os.close(master)
    os.waitpid(pid, 0)


def rate(command, size, env=None, cwd=None):
    """MB/s at the terminal."""
    pid, master = on_pty(command, env, cwd)
    total, seconds = drain(master)
    ended(pid, master)
    if total < size - 65536:
        sys.exit("bench: %d bytes came of %d: %s" % (total, size, command))
    return total / seconds / 1e6


def attached(suite, project):
    """MB/s at a terminal that looks in. It is not waited for: what it gets is
    as much as it takes."""
    made = subprocess.run([SBXCTL, "new", "--", "sh", "-c",
                           "echo ready; read -r go; cat pairs"], cwd=project,
                          env=suite.env, check=True, capture_output=True,
                          text=True)
    sid = made.stdout.strip()
    pid, master = on_pty([SBXCTL, "attach", sid], suite.env, project)
    until(master, b"ready")
    os.write(master, b"\n")
    total, seconds = drain(master)
    ended(pid, master)
    # Its processes may be going still.
    for _ in range(100):
        if subprocess.run([SBXCTL, "rm", "--discard", sid], env=suite.env,
                          capture_output=True, check=False).returncode == 0:
            return total / seconds / 1e6
        time.sleep(0.1)
    sys.exit("bench: session %s does not go" % sid)


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


class Flood:
    """A session that writes to a terminal of its own, which another process
    reads, as long as it is open."""

    def __init__(self, suite, project):
        self.reader = os.fork()
        if self.reader == 0:
            pid, master = on_pty([SBXCTL, "run", "--", "cat", "/dev/zero"],
                                 suite.env, project)
            while read(master):
                pass
            os._exit(0)

    def __enter__(self):
        time.sleep(0.5)
        return self

    def __exit__(self, *exc):
        os.kill(self.reader, 15)  # and with it the terminal
        os.waitpid(self.reader, 0)
        time.sleep(0.5)


def p99(values):
    return statistics.quantiles(values, n=100)[98]


def echo(suite, project, table):
    pid, master = on_pty([SBXCTL, "run", "--", "sh", "-c",
                          "stty -icanon; echo ready; exec cat >/dev/null"],
                         suite.env, project)
    until(master, b"ready")
    idle, busy = [], []
    for _ in range(BATCHES):
        idle.append(p99(echoes(master)))
        with Flood(suite, project):
            busy.append(p99(echoes(master)))
    os.write(master, b"\x03")
    drain(master)
    ended(pid, master)
    table.add("p99 of an echo, another writes", "ms", busy, idle, "idle", 3)


def write(path, size):
    """Text of lines, as long as a compiler's."""
    line = b"0123456789abcdef" * 6 + b"\n"
    with open(path, "wb") as f:
        f.write(line * (size // len(line)))


def run(scratch, table):
    mount = scratch.fresh("terminal")
    project = os.path.join(mount, "project")
    os.mkdir(project)
    write(os.path.join(project, "pairs"), PAIR_BYTES)
    write(os.path.join(project, "big"), BYTES)
    suite = scratch.suite(mount)
    plain = ["cat", "pairs"]
    ours, pty_, relay, joined = interleave(
        lambda: rate([SBXCTL, "run", "--"] + plain, PAIR_BYTES, suite.env,
                     project),
        lambda: rate(plain, PAIR_BYTES, None, project),
        lambda: rate(["script", "-qc", "cat pairs", "/dev/null"], PAIR_BYTES,
                     None, project),
        lambda: attached(suite, project))
    table.add("terminal bytes", "MB/s", ours, pty_, "pty", 0.8, low=True)
    table.add("terminal bytes, attached", "MB/s", joined, pty_, "pty", 0.8,
              low=True)
    # What a second terminal costs by itself.
    table.add("terminal bytes, against script(1)", "MB/s", ours, relay,
              "script")
    before = cpu(suite.process.pid)
    rate([SBXCTL, "run", "--", "cat", "big"], BYTES, suite.env, project)
    used = (cpu(suite.process.pid) - before) * 1000
    table.add("sbxd's time for 200 MB", "ms", [used], limit=20)
    echo(suite, project, table)
