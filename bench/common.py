"""What all benchmarks share: a suite on a fresh filesystem, interleaved pairs,
and the table that comes of them."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(SRC, os.environ.get("BUILD", "build"))
SBXCTL = os.path.join(BUILD, "bin", "sbxctl")
SBXD = os.path.join(BUILD, "sbin", "sbxd")
PAIRS = int(os.environ.get("PAIRS", "30"))

# What the kernel is still at after a run shall burden nobody's next one.
SETTLE = 0.05  # seconds


class Scratch:
    """A folder, and fresh filesystems in it, all gone at the end."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="sbx-bench.", dir="/var/tmp")
        os.chmod(self.dir, 0o755)
        self.mounts = []
        self.suites = []
        return self

    def __exit__(self, *exc):
        for suite in self.suites:
            suite.stop()
        os.chdir("/")
        for mount in reversed(self.mounts):
            subprocess.run(["umount", "-l", mount], check=False)
        # What is still mounted there may be the machine's own.
        with open("/proc/self/mountinfo") as f:
            if self.dir + "/" in f.read():
                sys.exit("bench: %s: something is still mounted there: "
                         "unmount it, then remove it" % self.dir)
        shutil.rmtree(self.dir, ignore_errors=True)

    def fresh(self, name, size="2G", inodes=None):
        """ext4 on a loop device: one that deletions have aged is slower by a
        factor, and the machine's own is written to by others."""
        image = os.path.join(self.dir, name + ".img")
        mount = os.path.join(self.dir, name)
        os.mkdir(mount)
        subprocess.run(["truncate", "-s", size, image], check=True)
        count = ["-N", str(inodes)] if inodes else []
        subprocess.run(["mkfs.ext4", "-q", *count, image], check=True)
        subprocess.run(["mount", "-o", "loop", image, mount], check=True)
        self.mounts.append(mount)
        os.chmod(mount, 0o755)
        return mount

    def bind(self, what, where):
        """Read-only."""
        subprocess.run(["mount", "--bind", what, where], check=True)
        self.mounts.append(where)
        subprocess.run(["mount", "-o", "remount,bind,ro", where], check=True)

    def suite(self, mount, state="state"):
        suite = Suite(os.path.join(mount, state))
        self.suites.append(suite)
        return suite


class Suite:
    """sbxd -d with its state there, until stop()."""

    def __init__(self, state):
        self.env = dict(os.environ, SBX_STATE=state)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [SBXD, "-d"], env=self.env, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        for _ in range(200):
            self.log.seek(0)
            if ": ready on " in self.log.read():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.log.seek(0)
        sys.exit("bench: sbxd does not start:\n" + self.log.read())

    def helper(self, name):
        """The pid of one of its helpers."""
        out = subprocess.run(["pgrep", "-P", str(self.process.pid), "-x",
                              name], capture_output=True, text=True)
        return int(out.stdout.split()[0])

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)


class Table:
    """The rows, for people and as JSON."""

    def __init__(self):
        self.rows = []

    def add(self, what, unit, ours, theirs=None, peer=None, limit=None,
            low=False):
        """ours, theirs: lists of measurements. limit bounds the ratio of
        their medians (ours alone where there is no peer) from above; with
        low from below."""
        value = statistics.median(ours)
        row = {"what": what, "unit": unit, "n": len(ours),
               "ours": round(value, 3), "spread": spread(ours)}
        if theirs:
            row["peer"] = peer
            row["theirs"] = round(statistics.median(theirs), 3)
            row["their_spread"] = spread(theirs)
            value = value / statistics.median(theirs)
            row["ratio"] = round(value, 3)
        if limit is not None:
            row["limit"] = limit
            row["low"] = low
            row["reached"] = value >= limit if low else value <= limit
        self.rows.append(row)
        print(line(row), flush=True)

    def missed(self):
        return [r["what"] for r in self.rows if r.get("reached") is False]


def spread(values):
    """The middle half: first and third quartile."""
    if len(values) < 2:
        return None
    q = statistics.quantiles(values, n=4)
    return [round(q[0], 3), round(q[2], 3)]


def line(row):
    text = "%-34s %9.3f %-5s" % (row["what"], row["ours"], row["unit"])
    if row["spread"]:
        text += " [%.3f-%.3f]" % tuple(row["spread"])
    if "ratio" in row:
        text += "  %s %.3f  ratio %.2f" % (row["peer"], row["theirs"],
                                           row["ratio"])
    if "limit" in row:
        text += "  at %s %s%s" % ("least" if row["low"] else "most",
                                  row["limit"],
                                  "" if row["reached"] else "  MISSED")
    return text


def timed(command, env=None, cwd=None):
    """How long it takes, in ms."""
    time.sleep(SETTLE)
    start = time.monotonic()
    done = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    ms = (time.monotonic() - start) * 1000
    if done.returncode != 0:
        sys.exit("bench: %s: status %d\n%s" % (" ".join(command),
                 done.returncode, done.stderr))
    return ms


class Someone:
    """An ordinary user, who has no account: what timed() does, as that one."""

    UID = 47110

    def __init__(self, scratch):
        shutil.copy(os.path.join(SRC, "bench", "timer.py"), scratch.dir)
        # One that everybody may execute.
        self.process = subprocess.Popen(
            ["python3", os.path.join(scratch.dir, "timer.py")],
            env=dict(os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            user=self.UID, group=self.UID, extra_groups=[])

    def folder(self, path):
        os.mkdir(path)
        os.chown(path, self.UID, self.UID)
        return path

    def timed(self, command, env=None, cwd=None):
        self.process.stdin.write(json.dumps(
            {"command": command, "env": env, "cwd": cwd,
             "settle": SETTLE}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["status"] != 0:
            sys.exit("bench: %s: status %d\n%s" % (" ".join(command),
                     answer["status"], answer["said"]))
        return answer["ms"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def interleave(*measures, pairs=PAIRS):
    """Calls each once to warm up, then in turns, the order turned round each
    time. A list of results each."""
    results = [[] for _ in measures]
    for measure in measures:
        measure()
    order = list(range(len(measures)))
    for _ in range(pairs):
        for i in order:
            results[i].append(measures[i]())
        order.reverse()
    return results
