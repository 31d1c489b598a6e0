#!/usr/bin/env python3
"""Runs in the folder that is measured: a name a line on stdin, milliseconds a
line on stdout. The same program inside a session and in a bare overlay, so
that only the filesystem differs."""

import os
import subprocess
import sys
import time

round_number = 0


def sh(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: status %d: %s" % (" ".join(command), done.returncode,
                                        done.stderr))


def git_status():
    sh("git", "-C", "tree", "status", "--porcelain")


def git_checkout():
    """To the other branch: 2,000 files are rewritten."""
    sh("git", "-C", "tree", "checkout", "-q",
       "odd" if round_number % 2 else "even")


def untar():
    """Into a new folder; nothing is deleted, that would age the disk."""
    folder = "untar%d" % round_number
    os.mkdir(folder)
    sh("tar", "-xf", "tree.tar", "-C", folder)


def create():
    folder = "create%d" % round_number
    os.mkdir(folder)
    for i in range(20000):
        os.close(os.open("%s/%d" % (folder, i), os.O_WRONLY | os.O_CREAT |
                         os.O_EXCL, 0o644))


def build():
    sh("make", "-s", "-B", "-C", "c")


def main():
    global round_number
    for word in sys.stdin:
        name = word.strip()
        round_number += 1
        start = time.monotonic()
        {"git status": git_status, "git checkout": git_checkout,
         "untar": untar, "create 20,000": create, "compile": build}[name]()
        print("%.3f" % ((time.monotonic() - start) * 1000), flush=True)


main()
