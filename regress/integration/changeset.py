"""Random trees and random changes of them, by a seed.

changeset.py tree SEED    makes a tree in the current folder
changeset.py change SEED  changes it, then prints what list prints
changeset.py list         every file and link: name, kind, mode, content
"""
import hashlib
import os
import random
import stat
import sys

SKIP = (b".git", b".sbx-land-")
PARTS = [b"a", b"b", b"src", b"doc", b"with space", b"tab\there", b'quo"te',
         b"back\\slash", b"new\nline", b"\xff\xfe", b"caf\xc3\xa9", b"-dash",
         b"x.o", b"a b", b"c d", b"%s", b"*", b"dev", b"null", b".hidden",
         b"UPPER", b"upper", b"long" * 40, b"\x01", b"...", b"b ", b" b"]


def walk():
    files, dirs = [], []
    for top, ds, fs in os.walk(b"."):
        ds[:] = [d for d in ds if not d.startswith(SKIP)]
        for d in ds + fs:
            p = os.path.join(top, d)[2:]
            if os.path.isdir(p) and not os.path.islink(p):
                dirs.append(p)
            elif not d.startswith(SKIP):
                files.append(p)
    return sorted(files), sorted(dirs)


def show():
    for p in walk()[0]:
        st = os.lstat(p)
        if stat.S_ISLNK(st.st_mode):
            what = "link", b"", os.readlink(p)
        else:
            with open(p, "rb") as f:
                data = f.read()
            what = ("file", b"%o" % (st.st_mode & 0o111),
                    hashlib.sha256(data).hexdigest().encode())
        print(p, *what)


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def name(self):
        n = self.r.choice(PARTS)
        if self.r.random() < 0.7:
            n += b"%d" % self.r.randrange(30)
        return n

    def place(self, dirs):
        d = self.r.choice(dirs + [b""])
        if self.r.random() < 0.3:
            d = os.path.join(d, self.name())
        return os.path.join(d, self.name())

    def content(self):
        r = self.r
        eol = r.choice([b"\n"] * 6 + [b"\r\n", b"\r"])
        kind = r.random()
        if kind < 0.1:
            return b""
        if kind < 0.2:
            return r.randbytes(r.choice([1, 100, 9000, 70000]))
        lines = [b"line %d" % r.randrange(20)
                 for _ in range(r.choice([1, 2, 5, 30, 400]))]
        if kind < 0.3:
            lines[r.randrange(len(lines))] = b"x" * 5000
        if kind < 0.35:
            lines[r.randrange(len(lines))] = b"\0nul"
        text = eol.join(lines)
        return text if r.random() < 0.3 else text + eol

    def edited(self, data):
        r = self.r
        lines = data.splitlines(True)
        for _ in range(r.choice([1, 1, 2, 5])):
            i = r.randrange(len(lines) + 1)
            what = r.random()
            if what < 0.4:
                lines.insert(i, b"inserted %d\n" % r.randrange(9))
            elif what < 0.6 and lines:
                del lines[min(i, len(lines) - 1)]
            elif what < 0.9 and lines:
                lines[min(i, len(lines) - 1)] = b"changed\n"
            elif lines:
                lines[-1] = lines[-1].rstrip(b"\r\n") + r.choice(
                    [b"", b"\n", b"\r\n"])
        return b"".join(lines)

    def write(self, p, data):
        try:
            os.makedirs(os.path.dirname(p) or b".", exist_ok=True)
            if os.path.isdir(p) or os.path.islink(p):
                return
            with open(p, "wb") as f:
                f.write(data)
            if self.r.random() < 0.2:
                os.chmod(p, 0o755)
        except OSError:
            pass    # its name is too long, or a file is where a folder goes

    def link(self, p):
        try:
            os.makedirs(os.path.dirname(p) or b".", exist_ok=True)
            os.symlink(self.r.choice([b"a", b"../b", b"/etc/passwd", b"nowhere",
                                      b"with space", b".", b"src"]), p)
        except OSError:
            pass

    def tree(self):
        for _ in range(self.r.choice([0, 3, 10, 40])):
            dirs = walk()[1]
            if self.r.random() < 0.1:
                self.link(self.place(dirs))
            else:
                self.write(self.place(dirs), self.content())

    def gone(self, p):
        if os.path.isdir(p) and not os.path.islink(p):
            for top, ds, fs in os.walk(p, topdown=False):
                for f in fs:
                    os.unlink(os.path.join(top, f))
                for d in ds:
                    q = os.path.join(top, d)
                    os.unlink(q) if os.path.islink(q) else os.rmdir(q)
            os.rmdir(p)
        else:
            os.unlink(p)

    def moved(self, p, to):
        try:
            os.makedirs(os.path.dirname(to) or b".", exist_ok=True)
            if not os.path.lexists(to):
                os.rename(p, to)
        except OSError:
            pass

    def other_kind(self, p):
        self.gone(p)
        what = self.r.random()
        if what < 0.4:
            self.write(os.path.join(p, self.name()), self.content())
        elif what < 0.7:
            self.link(p)
        else:
            self.write(p, self.content())

    def step(self):
        r = self.r
        files, dirs = walk()
        what = r.random()
        if what < 0.2 or not files:
            self.write(self.place(dirs), self.content())
        elif what < 0.25:
            self.link(self.place(dirs))
        elif what < 0.45:
            p = r.choice(files)
            if not os.path.islink(p):
                with open(p, "rb") as f:
                    data = f.read()
                self.write(p, self.edited(data))
        elif what < 0.55:
            self.gone(r.choice(files))
        elif what < 0.6 and dirs:
            self.gone(r.choice(dirs))
        elif what < 0.7:
            self.moved(r.choice(files), self.place(dirs))
        elif what < 0.78 and dirs:
            self.moved(r.choice(dirs), self.place([]))
        elif what < 0.86:
            p = r.choice(files)
            if not os.path.islink(p):
                os.chmod(p, r.choice([0o644, 0o755]))
        else:
            self.other_kind(r.choice(files + dirs))

    def change(self):
        for _ in range(self.r.choice([1, 3, 8, 25])):
            self.step()


def main():
    os.umask(0o022)
    if sys.argv[1] == "tree":
        Maker("tree %s" % sys.argv[2]).tree()
    elif sys.argv[1] == "change":
        Maker("change %s" % sys.argv[2]).change()
        show()
    else:
        show()


main()
