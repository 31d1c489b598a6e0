"""A session's start and end, against the sandboxes that people know."""

import json
import os
import shutil
import time

from common import PAIRS, SBXCTL, Someone, interleave, timed

BWRAP = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--tmpfs", "/run",
         "--proc", "/proc", "--dev", "/dev", "--unshare-all", "--share-net",
         "--cap-drop", "ALL", "--", "true"]
FIREJAIL = ["firejail", "--quiet", "--noprofile", "--", "true"]
RUNC = ["runc", "--root"]

# An embedded suite that nobody has used for so long has ended, in seconds.
ENDED = 4


def bundle(scratch):
    """runc wants a folder with a config.json: the machine's own root,
    read-only, and true. By a mount of its own: into the one that the machine
    stands on nothing pivots."""
    folder = os.path.join(scratch.dir, "bundle")
    rootfs = os.path.join(folder, "rootfs")
    os.makedirs(rootfs)
    scratch.bind("/", rootfs)
    kinds = ["pid", "ipc", "uts", "mount"]
    config = {
        "ociVersion": "1.0.2",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0},
                    "args": ["true"], "cwd": "/",
                    "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
                    "noNewPrivileges": True,
                    "capabilities": {}},
        "root": {"path": rootfs, "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/run", "type": "tmpfs", "source": "tmpfs"}],
        "linux": {"namespaces": [{"type": k} for k in kinds]},
    }
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)
    return folder


def run(scratch, table):
    mount = scratch.fresh("start")
    project = os.path.join(mount, "project")
    os.mkdir(project)
    suite = scratch.suite(mount)

    def ours():
        return timed([SBXCTL, "run", "--", "true"], env=suite.env,
                     cwd=project)

    mine, theirs = interleave(ours, lambda: timed(BWRAP, cwd=project))
    table.add("start, running suite", "ms", mine, theirs, "bwrap", 1.3)

    mine, theirs = interleave(ours, lambda: timed(["true"]))
    table.add("start, against no sandbox", "ms", mine, theirs, "true")

    if shutil.which("firejail"):
        mine, theirs = interleave(ours, lambda: timed(FIREJAIL, cwd=project))
        table.add("start, against firejail", "ms", mine, theirs, "firejail")

    # At real-time priority nothing enters a control group that runc made.
    if shutil.which("runc") and os.sched_getscheduler(0) == os.SCHED_OTHER:
        root, number = os.path.join(scratch.dir, "runc"), [0]
        folder = bundle(scratch)

        def runc():
            number[0] += 1
            return timed([*RUNC, root, "run", "--no-new-keyring", "-b",
                          folder, "bench%d" % number[0]])

        mine, theirs = interleave(ours, runc)
        table.add("start, against runc", "ms", mine, theirs, "runc")

    embedded(scratch, table, mount)


class Own:
    """A start where no suite runs, each on another state: the suite of the
    last one is there for two seconds more."""

    def __init__(self, timed, folder, project):
        self.timed, self.folder, self.project = timed, folder, project
        self.number = -1

    def start(self):
        self.number = (self.number + 1) % (PAIRS + 1)
        env = dict(os.environ, HOME=self.folder, SBX_STATE=os.path.join(
            self.folder, "own%d" % self.number))
        env.pop("XDG_RUNTIME_DIR", None)
        return self.timed([SBXCTL, "run", "--", "true"], env=env,
                          cwd=self.project)

    def bwrap(self):
        return self.timed(BWRAP, cwd=self.project)


def embedded(scratch, table, mount):
    """With a state that is there, and the first time on one, which makes the
    suite's key and syncs it: once in its life."""
    someone = Someone(scratch)
    folder = os.path.join(mount, "root")
    os.mkdir(folder)
    root = Own(timed, folder, os.path.join(mount, "project"))
    user = Own(someone.timed, someone.folder(os.path.join(mount, "user")),
               someone.folder(os.path.join(mount, "mine")))
    for who, own in (("", root), (", a user's", user)):
        first = interleave(own.start, own.bwrap)
        time.sleep(ENDED)
        then = interleave(own.start, own.bwrap)
        table.add("start, suite of its own%s" % who, "ms", *then, "bwrap", 4)
        table.add("the first on a state%s" % who, "ms", *first, "bwrap", 4)
    someone.end()
