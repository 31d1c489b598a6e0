"""File work in a session against the same in a bare kernel overlay with the
same options, and in fuse-overlayfs. Each on a fresh filesystem."""

import os
import shutil
import subprocess
import sys

from common import SBXCTL, interleave

HERE = os.path.dirname(os.path.abspath(__file__))
WORKS = ["git status", "git checkout", "untar", "create 20,000", "compile"]


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=b",
                    "-c", "user.email=b@example.org", *words], check=True,
                   stdout=subprocess.DEVNULL)


def project_make(folder):
    """5,000 files of which 2,000 differ between two branches, as a tar too,
    and a C program of eight files."""
    tree = os.path.join(folder, "tree")
    os.makedirs(tree)
    git(tree, "init", "-q", "-b", "even")
    for i in range(5000):
        path = os.path.join(tree, "d%d" % (i % 50), "f%d" % i)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write("line %d\n" % i * 60)
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "even")
    git(tree, "checkout", "-q", "-b", "odd")
    for i in range(2000):
        with open(os.path.join(tree, "d%d" % (i % 50), "f%d" % i), "a") as f:
            f.write("odd\n")
    git(tree, "commit", "-q", "-a", "-m", "odd")
    subprocess.run(["tar", "-C", tree, "--exclude=.git", "-cf",
                    os.path.join(folder, "tree.tar"), "."], check=True)
    c = os.path.join(folder, "c")
    os.mkdir(c)
    for i in range(8):
        with open(os.path.join(c, "m%d.c" % i), "w") as f:
            f.write("#include <stdio.h>\n#include <stdlib.h>\n")
            for j in range(40):
                f.write("int f%d_%d(int x) { printf(\"%%d\", x); "
                        "return x * %d; }\n" % (i, j, j))
    with open(os.path.join(c, "Makefile"), "w") as f:
        f.write("all: %s\n" % " ".join("m%d.o" % i for i in range(8)))
    shutil.copy(os.path.join(HERE, "work.py"), folder)


class Worker:
    """work.py, wherever command runs it."""

    def __init__(self, command, env=None, cwd=None):
        self.process = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def measure(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("bench: %s: the work ended" % name)
        return float(answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def fresh_project(scratch, name):
    mount = scratch.fresh(name, "12G", 2500000)
    project = os.path.join(mount, "project")
    project_make(project)
    return mount, project


def overlay(mount, project, fuse):
    """A shell line that mounts one over the project in a namespace of its
    own and runs the work there."""
    for name in ("u", "w"):
        os.mkdir(os.path.join(mount, name))
    options = "lowerdir=%s,upperdir=%s/u,workdir=%s/w" % (project, mount,
                                                          mount)
    if fuse:
        how = "fuse-overlayfs -o %s %s" % (options, project)
    else:
        how = "mount -t overlay overlay -o %s,redirect_dir=on,index=off," \
            "metacopy=off %s" % (options, project)
    # Its daemon ends with the work, as all of that pid namespace.
    return ["unshare", "-mpf", "--kill-child", "sh", "-ec",
            "%s; cd %s; exec python3 work.py" % (how, project)]


def run(scratch, table):
    mount, project = fresh_project(scratch, "ours")
    suite = scratch.suite(mount)
    ours = Worker([SBXCTL, "run", "--keep", "--", "python3", "work.py"],
                  env=suite.env, cwd=project)
    peers = {}
    mount, project = fresh_project(scratch, "overlay")
    peers["overlay"] = Worker(overlay(mount, project, False))
    if shutil.which("fuse-overlayfs"):
        mount, project = fresh_project(scratch, "fuse")
        peers["fuse-overlayfs"] = Worker(overlay(mount, project, True))
    for name in WORKS:
        results = interleave(
            lambda: ours.measure(name),
            *(lambda p=p: p.measure(name) for p in peers.values()))
        for peer, theirs in zip(peers, results[1:]):
            table.add("%s" % name, "ms", results[0], theirs, peer,
                      1.1 if peer == "overlay" else None)
    ours.end()
    for peer in peers.values():
        peer.end()
