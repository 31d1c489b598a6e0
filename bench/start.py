"""A session's start and end, against the sandboxes that people know."""

import json
import os
import shutil

from common import SBXCTL, interleave, timed

BWRAP = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--tmpfs", "/run",
         "--proc", "/proc", "--dev", "/dev", "--unshare-all", "--share-net",
         "--cap-drop", "ALL", "--", "true"]
FIREJAIL = ["firejail", "--quiet", "--noprofile", "--", "true"]
RUNC = ["runc", "--root"]


def bundle(scratch):
    """runc wants a folder with a config.json: the machine's own root,
    read-only, and true."""
    folder = os.path.join(scratch.dir, "bundle")
    os.mkdir(folder)
    kinds = ["pid", "ipc", "uts", "mount"]
    config = {
        "ociVersion": "1.0.2",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0},
                    "args": ["true"], "cwd": "/",
                    "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
                    "noNewPrivileges": True,
                    "capabilities": {}},
        "root": {"path": "/", "readonly": True},
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

    if shutil.which("runc"):
        root, number = os.path.join(scratch.dir, "runc"), [0]
        folder = bundle(scratch)

        def runc():
            number[0] += 1
            return timed([*RUNC, root, "run", "--no-new-keyring", "-b",
                          folder, "bench%d" % number[0]])

        mine, theirs = interleave(ours, runc)
        table.add("start, against runc", "ms", mine, theirs, "runc")

    number = [0]

    def embedded():
        number[0] += 1
        env = dict(os.environ,
                   SBX_STATE=os.path.join(mount, "own%d" % number[0]))
        return timed([SBXCTL, "run", "--", "true"], env=env, cwd=project)

    mine, theirs = interleave(embedded, lambda: timed(BWRAP, cwd=project))
    table.add("start, suite of its own", "ms", mine, theirs, "bwrap", 4)
