"""What explain says, against a real open.

explain.py world DIR OWNER        makes the host's side, prints its paths
explain.py ask OUT SBXCTL-WORDS.. explain --json of each path on stdin
explain.py open OUT               a real open of each path on stdin, inside
explain.py compare ASKED OPENED STATE...   every pair fits, and each of these
                                  states was there; of SBX_FEW paths, or 200
"""
import errno
import hashlib
import json
import os
import pwd
import re
import socket
import stat
import subprocess
import sys


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def link(text, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(text, path)


def world(top, uid):
    """TOP/proj is the project, TOP/out is not; hidden: SECRETS below both."""
    p, o = top + "/proj", top + "/out"
    gid = pwd.getpwuid(uid).pw_gid
    paths = []
    for base in p, o:
        for d in "plain", "conf", "conf/deep/er", "fixed", "fixed/sub":
            write(f"{base}/{d}/f", f"{base} {d}\n")
            write(f"{base}/{d}/.dot", "dot\n")
            write(f"{base}/{d}/with blank", "blank\n")
            paths += [f"{base}/{d}", f"{base}/{d}/f", f"{base}/{d}/.dot",
                      f"{base}/{d}/with blank", f"{base}/{d}/missing",
                      f"{base}/{d}/f/below", f"{base}/{d}/../{d}/f",
                      f"{base}//{d}/./f", f"{base}/{d}/"]
        for i in range(4):
            write(f"{base}/hid/{'n/' * i}file", "SECRET\n")
            paths += [f"{base}/hid/{'n/' * i}file", f"{base}/hid/{'n/' * i}"]
        write(f"{base}/keys/id", "SECRET key\n")
        write(f"{base}/keys/pub", "public\n")
        write(f"{base}/fixed/hid/file", "SECRET\n")
        link("keys/id", f"{base}/to-key")
        link(f"{o}/keys", f"{base}/to-keys")
        link("../proj/hid", f"{base}/to-hid")
        link("to-hid", f"{base}/to-to-hid")
        link("nowhere", f"{base}/dangling")
        link("loop2", f"{base}/loop1")
        link("loop1", f"{base}/loop2")
        link("fixed", f"{base}/to-fixed")
        link("plain/f", f"{base}/to-f")
        link("/dev/null", f"{base}/to-null")
        link("../" * 30 + "etc/hosts", f"{base}/to-hosts")
        write(f"{base}/locked/f", "locked\n")
        write(f"{base}/unread", "unread\n")
        os.mkfifo(f"{base}/fifo")
        s = socket.socket(socket.AF_UNIX)
        os.chdir(base)
        s.bind("sock")
        paths += [f"{base}/{n}" for n in (
            "", "keys", "keys/id", "keys/pub", "fixed/hid", "fixed/hid/file",
            "to-key", "to-keys", "to-keys/id", "to-keys/pub", "to-hid",
            "to-hid/file", "to-to-hid/n/file", "dangling", "loop1", "loop1/x",
            "to-fixed", "to-fixed/f", "to-fixed/hid/file", "to-f", "to-null",
            "to-hosts", "locked", "locked/f", "unread", "fifo", "sock",
            "absent", "absent/deep/file", "absent-too", "hid/new",
            "x" * 255, "x" * 256, "plain/" + "y/" * 60)]
        for d, names, files in os.walk(base):
            for n in names + files:
                os.lchown(f"{d}/{n}", uid, gid)
        os.chown(base, uid, gid)
        os.chmod(f"{base}/locked", 0o700)
        os.lchown(f"{base}/locked", 0 if uid else 65533, 0)
        os.chmod(f"{base}/unread", 0o600)
        os.lchown(f"{base}/unread", 0 if uid else 65533, 0)
    # The machine's /tmp is every case's.
    only = "/tmp/host-only." + os.environ["SBX_SCRATCH"].split(".")[-1]
    write(only, "host\n")
    write("/run/host-only", "host\n")
    paths += ["/", "/etc", "/etc/hosts", "/etc/fstab", "/etc/resolv.conf",
              "/usr/bin/env", "/usr", "/bin/sh", "/root", "/home",
              "/tmp", only, "/run", "/run/host-only",
              "/run/user", "/dev", "/dev/null", "/dev/zero", "/dev/shm",
              "/dev/kmsg", "/dev/mem", "/proc", "/proc/1", "/proc/self/status",
              "/proc/kcore", "/sys", "/sys/kernel", "/sys/kernel/debug",
              "/sys/firmware", "/sys/nothing", "/nothing", "/nothing/at/all",
              "/etc/../etc/hostname", "/proc/../etc/hosts",
              "/var/run", "/var/lib", "/usr/lib/../bin",
              os.environ["SBX_STATE"], os.environ["SBX_STATE"] + "/sbxd",
              os.environ["SBX_STATE"] + "/s"]
    for m in ("tmpfs", "bind", "robind", "filebind", "proc", "over", "deep"):
        paths += [f"{top}/mnt/{m}", f"{top}/mnt/{m}/f", f"{top}/mnt/{m}/no"]
    paths += [f"{top}/mnt/bind/keys/id", f"{top}/mnt/bind/hid/file",
              f"{top}/mnt/robind/keys/id", f"{top}/mnt/deep/in/f",
              f"{top}/mnt/deep/in", f"{top}/mnt/proc/1/status"]
    for path in paths:
        print(path)


def lines():
    return [x for x in sys.stdin.read().split("\n") if x]


def ask(out, words):
    answers = {}
    for path in lines():
        r = subprocess.run(["sbxctl", "explain", "--json", *words[:-1], path,
                            *([words[-1]] if words[-1] else [])],
                           capture_output=True)
        assert r.returncode == 0, (path, r.returncode, r.stderr)
        answers[path] = json.loads(r.stdout)
        assert answers[path]["path"] == re.sub("/+", "/", path)
    json.dump(answers, open(out, "w"))


def mounted(fd):
    """Of the mount that it is in: where, which filesystem, read-only."""
    with open(f"/proc/self/fdinfo/{fd}") as f:
        number = re.search(r"mnt_id:\t(\d+)", f.read())[1]
    with open("/proc/self/mountinfo") as f:
        for line in f:
            w = line.split()
            if w[0] == number:
                return {"at": w[4], "type": w[w.index("-") + 1],
                        "ro": "ro" in w[5].split(",")}
    return {"at": None, "type": None, "ro": False}


def probe(path):
    """errno or type, mount and content; errno of writing there."""
    r = {"errno": 0, "kind": "", "data": None, "write": 0}
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as e:
        return {**r, "errno": e.errno}
    r.update(mounted(fd))
    st = os.fstat(fd)
    try:
        if stat.S_ISREG(st.st_mode):
            r["kind"] = "file"
            with os.fdopen(os.dup(fd), "rb") as f:
                r["data"] = hashlib.sha256(f.read(1 << 16)).hexdigest()
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        elif stat.S_ISDIR(st.st_mode):
            r["kind"] = "dir"
            r["data"] = sorted(os.listdir(fd))
            os.mkdir(path + "/.probe")
            os.rmdir(path + "/.probe")
        else:
            r["kind"] = "other"
    except OSError as e:
        r["write"] = e.errno
    os.close(fd)
    return r


def opened(out):
    json.dump({p: probe(p) for p in lines()}, open(out, "w"))


EMPTY = hashlib.sha256(b"").hexdigest()
GONE = errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG
NO_WRITE = errno.EROFS, errno.EACCES, errno.EPERM
# A kernel's own files do not care for a mount's flags, nor for us.
KERNEL = "/proc", "/sys"


def host(path):
    try:
        st = os.lstat(path)
        if stat.S_ISREG(st.st_mode):
            with open(path, "rb") as f:
                return hashlib.sha256(f.read(1 << 16)).hexdigest()
        return stat.S_IFMT(st.st_mode)
    except OSError:
        return None


def empty(o):
    return (o["errno"] in GONE or o["data"] in (EMPTY, []))


def fits(a, o):
    state, there = a["state"], host(a["target"])
    if state in ("shown", "layer", "read-only"):
        if o["errno"] == errno.ENXIO:
            return stat.S_ISSOCK(os.lstat(a["target"]).st_mode)
        if o["errno"]:
            return False
        if state != "layer" and o["kind"] == "file" and \
                not a["target"].startswith(KERNEL) and o["data"] != there:
            return False
        if o["kind"] == "other":
            return True
        if state == "read-only":
            return o["write"] in NO_WRITE or (
                o["write"] and a["target"].startswith(KERNEL))
        return o["write"] in (0, errno.EACCES)
    if state == "hidden":
        return empty(o) and (o["errno"] or o["write"] in NO_WRITE)
    if state == "covered":
        return empty(o)
    if state == "missing":
        return o["errno"] in GONE
    if state == "denied":
        return o["errno"] in (errno.EACCES, errno.EPERM, errno.ENXIO)
    if state == "device":
        return o["kind"] == "other" or o["errno"] == errno.ENXIO
    if state == "own":
        return "host-only" not in a["target"] or o["errno"] == errno.ENOENT
    return False


PLACES = "filesystem home project"
RULES = {"shown": PLACES, "layer": PLACES, "read-only": PLACES + " ro fresh",
         "hidden": "hide state", "own": "fresh filesystem", "device": "fresh",
         "covered": PLACES + " fresh", "denied": PLACES + " ro permissions",
         "missing": PLACES + " ro fresh"}
MADE = {"/proc": ("proc",), "/sys": ("sysfs",)}


def made(a, o):
    """Rule and mechanism, by the mount that the open was in."""
    state, rule, how, of = (a.get(k) for k in (
        "state", "rule", "mechanism", "of"))
    if rule not in RULES[state].split() or not how:
        return False
    if o["errno"]:
        return True
    if state == "hidden":
        return o["type"] in ("tmpfs", "overlay")
    if state in ("own", "read-only", "device") and rule == "fresh":
        return o["type"] in MADE.get(of, ("tmpfs", "devpts", "devtmpfs",
                                          "overlay"))
    if state not in ("shown", "layer", "read-only"):
        return True
    if "read-only mount" in how:
        # A user's clone of "/" has what is mounted below it.
        return o["ro"] and of in (o["at"], "/")
    return o["type"] == "overlay" and of == o["at"]


def compare(asked, seen, want):
    a, o = json.load(open(asked)), json.load(open(seen))
    assert a.keys() == o.keys()
    bad = [(a[p], o[p]) for p in a
           if not (fits(a[p], o[p]) and made(a[p], o[p]))]
    for b in bad:
        print(*b, sep="\n    ", file=sys.stderr)
    states = {}
    for x in a.values():
        states[x["state"]] = states.get(x["state"], 0) + 1
    print(len(a), "paths:", states)
    assert not bad, len(bad)
    assert len(a) >= int(os.environ.get("SBX_FEW", 200)), len(a)
    assert set(want) <= states.keys(), states


if sys.argv[1] == "world":
    world(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "ask":
    ask(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "open":
    opened(sys.argv[2])
else:
    compare(sys.argv[2], sys.argv[3], sys.argv[4:])
