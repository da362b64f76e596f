"""What simulated sessions do: their folder, commands that read it, write to it or start a job, and hostile writers.

A hostile writer changes one thing so that a validity check of other tools does not see it: size and modification time
are restored, the write goes through memory, a link changes its target, a file appears below a searched folder.
"""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Callable
from pathlib import Path

FILES = ("a.py", "b.txt", "src/c.py", "src/deep/d.md", "link.txt", "empty.txt")
"""The files of the folder that sessions work in; ``link.txt`` points at ``b.txt``."""
MORE_FILES = (*FILES, "hard.txt", "big.txt", "linked/d.md", "src/../a.py")
"""The same, with a second name for ``a.py``, a file that is too long to be shown whole, and names that lead around."""
LATER = "EXECLEDGER_LATER"
"""The variable that names the file in which scripts note what a job of theirs is to write later."""

TEST = (
    "import unittest\n\n\nclass T(unittest.TestCase):\n"
    "    def test(self):\n        open('a.py', 'a').write('by a test\\n')\n"
)
SCRIPTS = {
    "test_touch.py": TEST,
    "touch_source.py": "import sys\np = sys.argv[1]\nopen(p, 'a').write('tail\\n')\n",
    # It leaves a job that writes some time after it has ended: a real one, and one that the session does for it.
    "late.sh": '(sleep 0.0$2; echo "late $2" >> "$1") > /dev/null 2>&1 &\n',
    "later.sh": f'echo "$1" >> "${LATER}"\n',
    "format.sh": 'for f in a.py src/c.py; do sed -i "s/  */ /g" "$f"; done\n',
    "stash.sh": "cp b.txt .stash && printf 'stashed\\n' > b.txt\n",
    "unstash.sh": "if [ -f .stash ]; then mv .stash b.txt; fi\n",
}
"""Scripts that are in the folder from the start, as a project's own are: no command shows their contents."""


def populate(folder: Path, random_: random.Random) -> None:
    """Write the files that a session works on."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = 0 if name == "empty.txt" else random_.randint(1, 90)
        # Repeated and blank lines make runs ambiguous, as real code does.
        words = [
            random_.choice(("", "    return x", f"value_{n} = compute({n}, mode=strict)", "# --")) for n in range(lines)
        ]
        text = "\n".join(words)
        path.write_text(text + ("\n" if words and random_.random() < 0.8 else ""))
    (folder / "link.txt").unlink()
    (folder / "link.txt").symlink_to("b.txt")
    (folder / "linked").symlink_to("src/deep")
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)


def populate_more(folder: Path, random_: random.Random) -> None:
    """The rest of ``MORE_FILES``."""
    populate(folder, random_)
    (folder / "hard.txt").hardlink_to(folder / "a.py")
    lines = random_.randint(350, 450)
    (folder / "big.txt").write_text("".join(f"entry {n} of a file that is long: {n * 7919}\n" for n in range(lines)))


def read_command(random_: random.Random, files: tuple[str, ...] = FILES) -> str:
    """A command that reads or searches."""
    file = random_.choice(files)
    first = random_.randint(1, 40)
    last = first + random_.randint(0, 40)
    return random_.choice(
        (
            f"cat {file}",
            f"cat -n {file}",
            f"cat -A {file}",
            f"sed -n '{first},{last}p' {file}",
            f"sed -n {first},+{last - first}p {file}",
            f"nl -ba {file} | sed -n '{first},{last}p'",
            f"head -n {last} {file}",
            f"head -{last} {file} | tail -n {last - first + 1}",
            f"tail -n {first} {file}",
            f"tail -n +{first} {file}",
            f"awk 'NR>={first} && NR<={last}' {file}",
            f"sed -n '{first}p;{last + 2},$p' {file}",
            f"cat {file} | head -n {first}",
            f"cat < {file}",
            f"grep -n value {file}",
            "grep -rn value_1 .",
            "ls -1 src",
            "find . -name '*.py' -newer a.py",
            "wc -l a.py b.txt",
            f"cat {file} 2>/dev/null || true",
            f"cat $(ls {file})",
            f"bash -c 'cat {file}'",
            f"cd src && cat c.py && cat ../{file}",
            f"diff a.py {file}",
            f"cat missing_{file} | head -5",
            "cat src/*.py",
            "cat linked/d.md",
            "cat linked/../c.py",
            f"sed -n '{first}p;{last + 5},{last + 9}p' {file}",
        )
    )


def restless_command(random_: random.Random) -> str:
    """A command whose output may differ each time although no file does."""
    return random_.choice(
        (
            "date +%N",
            "cat a.py; echo $RANDOM",
            "echo $$ $BASHPID $PPID",
            "cat /proc/uptime",
            "cat //proc/self/stat | head -c 40",
            "cd / && head -c 30 proc/uptime",
            "cat /./proc/uptime",
            "cat < /proc/../proc/uptime",
            "head -c 20 /dev/urandom | od -c",
            "shuf b.txt",
            "sort -R b.txt",
            "stat -c %x a.py",
            "ls -lu --time-style=full-iso a.py",
            "ls -la --time-style=full-iso src",
            "find . -name '*.py' -mmin -1",
            "ps -o pid=",
            "printf '%(%s)T' -1; echo $EPOCHREALTIME",
            "awk 'BEGIN { srand(); print rand(), systime() }' a.py",
            "env | sort | head -3",
            "df . | tail -1",
            "echo $SECONDS $COLUMNS; cat b.txt",
        )
    )


def write_command(random_: random.Random, files: tuple[str, ...] = FILES) -> str:
    """A command that changes something, through one of many channels."""
    file = random_.choice(files)
    # Not the same file, and not through the link: ``tee -a f < f`` never ends.
    other = random_.choice([name for name in FILES if name not in (file, "link.txt", "b.txt")])
    line = random_.randint(1, 30)
    return random_.choice(
        (
            f"sed -i '{line}s/.*/edited {random_.random()}/' {file}",
            f"echo more >> {file}",
            f"printf 'new\\nfile\\n' > {file}",
            f"cat > {file} <<'EOF'\n\n  indented {line}\nlast\nEOF",
            f"python3 -c \"open('{file}','a').write('by python\\n')\"",
            f"python3 - <<'PY'\nfrom pathlib import Path\np = Path('{file}')\np.write_text(p.read_text() + 'x\\n')\nPY",
            f"python3 touch_source.py {file}",
            f"cp -p {other} {file}.bak; cp {file}.bak {file}",
            f"mv {file} moved.tmp && cp {other} {file} && touch -r moved.tmp {file}",
            "ln -sfn a.py link.txt",
            "ln -sfn b.txt link.txt",
            f"awk '{{print NR, $0}}' {other} > {file}",
            f"tee -a {file} < {other} > /dev/null",
            f"perl -pi -e 's/value/VALUE/' {file}",
            f"rm -f {file}; echo back > {file}",
            f"find . -name '{file.rpartition('/')[2]}' -exec sed -i '1d' {{}} \\;",
            f"echo '{file}' | xargs sed -i '$d'",
            f"touch src/new_{line}.py",
            f"if [ -f {file} ]; then echo branch >> {file}; fi",
            f"for f in {file}; do echo loop >> $f; done",
            f"dd if=/dev/zero of={file} bs=1 count=3 2>/dev/null",
            f"truncate -s 5 {file}",
            f"patch -s {file} <<'EOF'\n--- a\n+++ b\n@@ -1 +1,2 @@\n+patched\n EOF\nEOF",
            f"eval 'echo evil >> {file}'",
            f"F={file}; echo dynamic >> $F",
            f"bash -c 'echo nested >> {file}'",
            f"sort -o {file} {file}",
            "python3 -m unittest -q test_touch 2>&1 | tail -1",
            f"mv {file} renamed.tmp && mv renamed.tmp {file} && echo renamed >> {file}",
            "ln -sfn src linked",
            f"(sleep 0.05; echo late >> {file}) > /dev/null 2>&1 &",
        )
    )


def calm_write(random_: random.Random, files: tuple[str, ...] = FILES) -> str:
    """A command that changes only what it names, so that a seal outlasts it."""
    file = random_.choice(files)
    line = random_.randint(1, 30)
    return random_.choice(
        (
            f"sed -i '{line}s/.*/edited {random_.random()}/' {file}",
            f"sed -i '{line}d' hard.txt",
            f"echo more >> {file}",
            "echo more >> hard.txt",
            "echo more >> linked/d.md",
            f"printf 'new\\nfile\\n' > {file}",
            f"cat > {file} <<'EOF'\n\n  indented {line}\nlast\nEOF",
            f"cp src/c.py {file}.copy; mv {file}.copy src/new.py",
            f"touch {file}",
            f"touch src/new_{line}.py",
            "cp -p a.py kept && sed -i 's/e/E/' a.py && cat kept > a.py && touch -r kept a.py",
            f"rm -f src/new_{line}.py src/new.py",
            f"truncate -s 40 {file}",
            f"cat a.py | tee -a {file} > /dev/null" if file not in ("a.py", "link.txt") else "touch a.py",
        )
    )


def wild_write(random_: random.Random, files: tuple[str, ...] = FILES) -> str:
    """A command that writes where no word of it says so, now or later."""
    file = random_.choice(files)
    if random_.random() < 0.5:
        late, later = f"bash late.sh {file} {random_.randint(1, 4)}", f"later.sh {file}"
        return random_.choice((late, f"bash {later}", f"sh ./{later} | cat", f"cat a.py; . ./{later}"))
    return random_.choice(
        (
            "bash format.sh",
            "bash stash.sh",
            "bash unstash.sh",
            f"x='a[$(echo hidden >> {file})]'; echo $((x))",
            f"cat <(sleep 0.02; echo substituted >> {file})",
            f'cat() {{ echo shadowed >> {file}; command cat "$@"; }}; cat a.py',
            f"sed '1w {file}' src/c.py",
            f"sed -n '1e echo ran >> {file}' a.py",
            f"awk 'BEGIN {{ system(\"echo awk >> {file}\") }}'",
            f"echo '-o {file} a.py' | xargs sort",
            f"PATH=.:$PATH bash later.sh {file}",
            f"trap 'echo trapped >> {file}' EXIT",
            f"printf '#!/bin/sh\\necho shim >> {file}\\n' > later_shim.sh; sh later_shim.sh",
            f"uniq a.py {file}" if file not in ("a.py", "link.txt") else "bash format.sh",
        )
    )


def same_size(path: Path, random_: random.Random) -> None:
    """One byte is another, and size and times are what they were."""
    before, text = path.stat(), path.read_bytes()
    if text:
        at = random_.randrange(len(text))
        path.write_bytes(text[:at] + b"Z" + text[at + 1 :])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def through_memory(path: Path, random_: random.Random) -> None:
    """One byte is another, written through a mapping."""
    with path.open("r+b") as file:
        if size := os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), size) as mapped:
                mapped[random_.randrange(size)] = ord("M")


def appended(path: Path, random_: random.Random) -> None:
    """One more line, as an editor saves it."""
    path.write_bytes(path.read_bytes() + f"by an editor {random_.random()}\n".encode())


def replaced(path: Path, random_: random.Random) -> None:
    """Another file under the same name."""
    other = path.with_name("." + path.name)
    other.write_text("".join(f"replaced {n} {random_.random()}\n" for n in range(random_.randint(1, 30))))
    other.replace(path)


def reverted(path: Path, random_: random.Random) -> None:
    """Changed and changed back: what was seen is still true."""
    text = path.read_bytes()
    path.write_bytes(b"for a moment\n")
    path.write_bytes(text)


def touched(path: Path, random_: random.Random) -> None:
    """Only the times differ."""
    path.touch()


def retargeted(path: Path, random_: random.Random) -> None:
    """A link leads elsewhere."""
    link = next(parent for parent in path.parents if (parent / "link.txt").is_symlink()) / "link.txt"
    link.unlink()
    link.symlink_to(random_.choice(("a.py", "b.txt", "src/c.py")))


def appeared(path: Path, random_: random.Random) -> None:
    """A new file beneath a folder that is listed and searched."""
    path.with_name(f"new_{random_.randint(1, 9)}.py").write_text("value_1 = appeared\n")


WRITERS: tuple[Callable[[Path, random.Random], None], ...] = (
    same_size,
    through_memory,
    appended,
    replaced,
    reverted,
    touched,
    retargeted,
    appeared,
)
"""Every way to write that a session may meet."""


def hostile_write(folder: Path, random_: random.Random, files: tuple[str, ...] = FILES) -> None:
    """Another process writes to one of ``files``, or beside it."""
    path = (folder / random_.choice(files)).resolve()
    if path.is_file() and (folder / "link.txt").is_symlink():
        random_.choice(WRITERS)(path, random_)
