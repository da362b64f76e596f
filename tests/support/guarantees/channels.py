"""The channels through which what a command prints can change, as data: who changes what, and which reads notice.

The first twenty are those by which read-saving tools are compared in the field; the rest are our own.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PUBLISHED = 20
"""The number of channels that are in the published comparison."""


class Reader(Struct, frozen=True):
    """A read, and the read that comes again after the change; ``{file}`` and ``{folder}`` are the channel's."""

    first: str
    """What the agent runs before the change."""
    again: str = ""
    """What it runs after it, if that is another command."""
    volatile: bool = False
    """Its output is another one at every run, whatever is changed."""


READERS = {
    "cat": Reader("cat {file}"),
    "part of a cat": Reader("cat {file}", "sed -n '8,40p' {file}"),
    "sed -n": Reader("sed -n '5,45p' {file}"),
    "part of a sed -n": Reader("sed -n '1,50p' {file}", "sed -n '6,44p' {file}"),
    "head": Reader("head -n 40 {file}"),
    "cat -n": Reader("cat -n {file}"),
    "nl, sed -n": Reader("nl -ba {file} | sed -n '5,44p'"),
    "bash -c": Reader("bash -c 'cat {file}'"),
    "substitution": Reader("cat $(ls {file})"),
    "diff": Reader("diff {file} docs/other.md"),
    "grep": Reader("grep -n value_ {file}"),
    "through a link": Reader("cat linked.py"),
    "grep -r": Reader("grep -rn value_ {folder}"),
    "git grep": Reader("git grep -n value_2 -- src docs"),
    "ls": Reader("ls -1 {folder}"),
    "ls -l": Reader("ls -l {folder}"),
    "glob": Reader("cat {folder}/*"),
    "wc": Reader("wc -l {folder}/*"),
    "find": Reader("find {folder} -name '*.*'"),
    "find -newer": Reader("find src docs -newer docs/stamp"),
    "git status": Reader("git status --short -uall"),
    "git diff": Reader("git diff -- src/stock.py docs"),
    "environment": Reader(". ./settings.sh && env | grep ^SHOP_ | sort"),
    "chosen by a variable": Reader(". ./settings.sh; cat $SHOP_FILE"),
    "clock": Reader("date +%s%N", volatile=True),
    "file and clock": Reader("cat {file}; date +%s%N", volatile=True),
    "random": Reader("od -An -N 400 -tx1 /dev/urandom", volatile=True),
    "random order": Reader("shuf {file}", volatile=True),
    "process": Reader("cat /proc/self/stat /proc/self/status /proc/uptime", volatile=True),
}
"""The reads, by name."""
LINES = ("cat", "part of a cat", "sed -n", "part of a sed -n", "head", "cat -n", "nl, sed -n", "bash -c")
"""Readers of the lines of one file."""
OF_FILE = (*LINES, "substitution", "diff", "grep")
"""Readers of one file."""
OF_STOCK = (*OF_FILE, "through a link", "grep -r", "git grep", "glob", "git diff")
"""Readers that see a changed line of the tracked source file."""
LISTINGS = ("ls", "find")
"""Readers that see names alone."""
VOLATILE = tuple(name for name, reader in READERS.items() if reader.volatile)
"""Readers whose output always changes."""


class Channel(Struct, frozen=True):
    """One way to change what reads return."""

    name: str
    """What it is called in the table."""
    change: str
    """The command that makes the change; "" if time alone does, or the job that was left behind."""
    changed: tuple[str, ...]
    """Readers whose output is another one afterwards, among others."""
    same: tuple[str, ...] = ()
    """Readers whose output stays, among others."""
    by: Literal["agent", "outside"] = "agent"
    """Who makes it: the agent, by a command of its own, or another process, of which no ledger knows."""
    file: str = "src/stock.py"
    """The file that the readers of one file read."""
    folder: str = "src"
    """The folder that the others read."""
    launch: str = ""
    """A command of the agent's before the first read; with ``{gate}`` in it, it leaves a job that waits there."""

    def commands(self, reader: Reader) -> tuple[str, str]:
        """What ``reader`` runs before and after the change."""
        first, again = (
            text.replace("{file}", self.file).replace("{folder}", self.folder)
            for text in (reader.first, reader.again or reader.first)
        )
        return first, again


def python(code: str) -> str:
    """A command that runs inline code."""
    return f'python3 -c "{code}"'


_SWAP = "s/value_2[0-9] = /other_x = /"
_REWRITE = "p='src/stock.py'; t=open(p).read()"
_TURNED = "t.replace('value_21', 'VALUE_21')"

CHANNELS = (
    Channel("sed -i", f"sed -i '{_SWAP}' src/stock.py", OF_STOCK, LISTINGS),
    Channel("python -c write", python(f"{_REWRITE}; open(p, 'w').write('# new\\n' + {_TURNED})"), OF_STOCK, LISTINGS),
    Channel("script that edits", "python3 tools/edit.py", OF_STOCK, LISTINGS),
    Channel("test rewrites a source", "python3 -m unittest -q tests/test_stock.py", OF_STOCK, LISTINGS),
    Channel("git stash in a script", "bash tools/shelve.sh", ("git diff", "cat", "cat -n", "glob"), LISTINGS),
    Channel("formatter", "./tools/format src", OF_STOCK, LISTINGS),
    Channel(
        "background job writes later",
        "",
        OF_STOCK,
        LISTINGS,
        launch=f"(read -r _ < {{gate}}/go; sed -i '{_SWAP}' src/stock.py; echo > {{gate}}/done) > /dev/null 2>&1 &",
    ),
    Channel(
        "external editor",
        f"sed '{_SWAP}' src/stock.py > src/.stock.swp && mv src/.stock.swp src/stock.py",
        OF_STOCK,
        LISTINGS,
        by="outside",
    ),
    Channel(
        "same size, same second", python(f"{_REWRITE}; open(p, 'r+').write({_TURNED})"), OF_STOCK, (*LISTINGS, "wc")
    ),
    Channel(
        "same size, restored mtime",
        python(f"import os; {_REWRITE}; s=os.stat(p); open(p, 'r+').write({_TURNED}); os.utime(p, ns=(s[7], s[8]))")
        .replace("s[7]", "s.st_atime_ns")
        .replace("s[8]", "s.st_mtime_ns"),
        OF_STOCK,
        (*LISTINGS, "wc", "find -newer"),
    ),
    Channel(
        "mmap write",
        python(
            "import mmap; f=open('src/stock.py', 'r+b'); m=mmap.mmap(f.fileno(), 0);"
            " at=m.find(b'value_21'); m[at:at+5]=b'VALUE'; m.flush()"
        ),
        OF_STOCK,
        (*LISTINGS, "wc"),
    ),
    Channel(
        "ignored file regenerated",
        "python3 tools/generate.py",
        (*OF_FILE, "grep -r", "glob"),
        (*LISTINGS, "git status", "git diff"),
        file="build/made.txt",
        folder="build",
    ),
    Channel(
        "symlink retargeted",
        "ln -sfn docs/other.md current.md",
        (*LINES, "substitution", "grep", "diff"),
        ("find", "grep -r", "glob"),
        file="current.md",
        folder="docs",
    ),
    Channel(
        "new file under a glob",
        python("open('src/zz_added.py', 'w').write('value_1 = 1\\n')"),
        ("glob", "wc", "ls", "ls -l", "find", "grep -r", "git status"),
        (*LINES, "git diff"),
    ),
    Channel(
        "new match in a searched tree",
        "head -n 9 docs/other.md > docs/extra.md",
        ("grep -r", "glob", "ls", "find", "git status"),
        (*LINES, "git diff", "git grep"),
        folder="docs",
    ),
    Channel("clock", "", VOLATILE, (*OF_STOCK, *LISTINGS, "git status")),
    Channel(
        "sourced environment",
        "sed -i s/stock.py/module_3.py/ settings.sh",
        ("environment", "chosen by a variable"),
        (*LINES, *LISTINGS),
    ),
    Channel("touch", "touch src/stock.py", ("find -newer",), (*OF_STOCK, *LISTINGS, "git status")),
    Channel(
        "edit and revert",
        "cp src/stock.py stock.keep && echo more >> src/stock.py && cp stock.keep src/stock.py && rm stock.keep",
        ("find -newer",),
        (*OF_STOCK, *LISTINGS, "git status"),
    ),
    Channel(
        "rm and recreate",
        "cp src/stock.py stock.keep; rm src/stock.py; mv stock.keep src/stock.py",
        ("find -newer",),
        (*OF_STOCK, *LISTINGS, "git status"),
    ),
    Channel("hard link", "sed 's/value_/other_/' docs/other.md >> twin.py", ("cat", "cat -n", "git diff"), LISTINGS),
    Channel("linked folder", f"sed -i '{_SWAP}' linked/stock.py", OF_STOCK, LISTINGS),
    Channel("folder renamed over", "mv src old && mv spare src", (*OF_FILE, "glob", "ls", "grep -r"), ("environment",)),
    Channel(
        "folder link retargeted",
        "ln -sfn spare linked",
        (*OF_FILE, "grep -r", "glob", "ls"),
        ("git diff", "git grep"),
        file="linked/stock.py",
        folder="linked/",
    ),
    Channel("archive unpacked", "tar xf spare.tar --strip-components=1 -C src", (*OF_FILE, "glob"), ("environment",)),
    Channel("git checkout", "git checkout -q -- docs", ("git diff", "git status", "glob"), LINES, folder="docs"),
    Channel("git reset", "git reset -q --hard", ("git diff", "git status", "cat", "glob"), LISTINGS),
    Channel("moved by find", f"find src -name stock.py -exec sed -i '{_SWAP}' {{}} \\;", OF_STOCK, LISTINGS),
    Channel("through a variable", f"F=src/stock.py; sed -i '{_SWAP}' $F", OF_STOCK, LISTINGS),
    Channel("through xargs", f"ls src/*.py | xargs -n 4 sed -i '{_SWAP}'", OF_STOCK, LISTINGS),
    Channel("swap with a plain redirection", "cat spare/stock.py > src/stock.py", OF_STOCK, LISTINGS),
    Channel("file removed", "rm src/module_3.py", ("ls", "find", "glob", "wc", "git status"), LINES),
)
"""All channels, the published ones first."""

_S = f"sed -i '{_SWAP}' src/stock.py"
DISGUISED = (
    "tee >(cat > src/stock.py) < docs/other.md",
    "cat docs/other.md | tee src/stock.py | head -n 1",
    "awk '{ print > \"src/stock.py\" }' docs/other.md",
    "awk 'BEGIN { system(\"cp docs/other.md src/stock.py\") }' docs/other.md",
    "sed -n 'w src/stock.py' docs/other.md",
    "sed '1e cp docs/other.md src/stock.py' docs/guide.md",
    "sed 's/.*/cp docs\\/other.md src\\/stock.py/e;q' docs/guide.md",
    "find docs -name other.md -fprint src/stock.py",
    f"find src -name stock.py -execdir {_S.replace('src/', '')} ';'",
    "sort docs/other.md -o src/stock.py",
    "uniq docs/other.md src/stock.py",
    "shuf docs/other.md --output=src/stock.py",
    "ls src > src/stock.py",
    "grep -n value_ docs/other.md 1> src/stock.py",
    "cat docs/other.md 1<> src/stock.py",
    "exec 3> src/stock.py; cat docs/other.md >&3",
    "{ cat docs/other.md; } &> src/stock.py",
    "if true; then cat docs/other.md; fi >| src/stock.py",
    f"cat() {{ {_S}; }}; cat docs/other.md",
    "shopt -s expand_aliases; alias look='cp docs/other.md src/stock.py'\nlook",
    f"echo $({_S})",
    f"cat docs/other.md `{_S}`",
    f"cat <({_S})",
    f'echo "${{X:-$({_S})}}"',
    "eval 'cp docs/other.md src/stock.py'",
    f'bash -lc "{_S}"',
    f"env LC_ALL=C sh -c '{_S.replace(chr(39), chr(34))}'",
    "ls docs/other.md | xargs -I{} cp {} src/stock.py",
    "printf 'src/stock.py' | xargs -n1 cp docs/other.md",
    "GIT_EXTERNAL_DIFF='cp docs/other.md src/stock.py #' git diff --ext-diff docs",
    "git -c core.fsmonitor='cp docs/other.md src/stock.py #' status --short",
    "git -c alias.show-me='!cp docs/other.md src/stock.py' show-me",
    "git diff --output=src/stock.py",
    "git show HEAD:docs/other.md > src/stock.py",
    "python3 -c 'import tools.edit'",
    "python3 -m tools.edit",
    "python3 -i -c 'import tools.edit' < /dev/null",
    "cat docs/other.md; ./tools/format src",
    f"timeout 20 {_S}",
    f"time {_S}",
    f"nice -n 1 {_S}",
    f"command {_S}",
    f"! {_S} || true",
    f"false || {_S}",
    f"for f in 1; do {_S}; done",
    f"case x in x) {_S};; esac",
    f"while {_S}; do break; done",
    f"trap '{_S.replace(chr(39), chr(34))}' EXIT; cat docs/other.md",
    "cat <<'EOF' | sh\ncp docs/other.md src/stock.py\nEOF",
    ". /dev/stdin <<'EOF'\ncp docs/other.md src/stock.py\nEOF",
    "dd if=docs/other.md of=src/stock.py status=none",
    "install -m 644 docs/other.md src/stock.py",
    "ln -f docs/other.md src/stock.py",
    "echo 'cp docs/other.md src/stock.py' > look.sh; bash look.sh",
    "cd src && cat ../docs/other.md > stock.py",
    "pushd src > /dev/null; cp ../docs/other.md stock.py; popd > /dev/null",
    "cat docs/other.md | (cd src; cat > stock.py)",
    "truncate -s 5 src/stock.py",
    "perl -e 'open F, q(>), q(src/stock.py); print F 1' ",
    "perl -ne 'BEGIN { system q(cp docs/other.md src/stock.py) } print' docs/guide.md",
)
"""Commands that change ``src/stock.py`` in a way that their first words do not show."""

STEERED = (
    ("git config core.fsmonitor 'cp docs/other.md src/stock.py #'", "git status --short"),
    ("git config diff.external 'cp docs/other.md src/stock.py #'", "git diff"),
    (
        "git config diff.look.textconv 'cp docs/other.md src/stock.py; cat' && echo '*.md diff=look' > .gitattributes",
        "git diff",
    ),
    (
        "printf '#!/bin/sh\\ncp docs/other.md src/stock.py\\n' > .git/hooks/post-index-change"
        " && chmod +x .git/hooks/post-index-change && touch docs/guide.md",
        "git status --short",
    ),
    ("git config alias.look '!cp docs/other.md src/stock.py'", "git look"),
    ("echo 'cp docs/other.md src/stock.py' > .look", ". ./.look"),
    ("echo 'cp docs/other.md src/stock.py' > settings.sh", ". ./settings.sh && env | grep ^SHOP_ | sort || true"),
    ("printf '#!/bin/sh\\ncp docs/other.md src/stock.py\\n' > cat && chmod +x cat", "./cat docs/guide.md"),
    (
        "printf '#!/bin/sh\\ncp docs/other.md src/stock.py\\n' > cat && chmod +x cat",
        "PATH=$PWD:$PATH cat docs/guide.md",
    ),
    ("printf '#!/bin/sh\\n/bin/cp docs/other.md src/stock.py\\n' > cat && chmod +x cat", "PATH=. cat docs/guide.md"),
    ("echo 'cp docs/other.md src/stock.py' > .look", "BASH_ENV=.look bash -c 'cat docs/guide.md'"),
    ("echo 'cp docs/other.md src/stock.py' > .bashrc", "HOME=$PWD bash -ic 'cat docs/guide.md' 2> /dev/null"),
    ("echo 'import tools.edit' > sitecustomize.py", "PYTHONPATH=. python3 -c 'print(1)'"),
)
"""Pairs: a command that lays something down, and a command that looks like a read and writes because of it."""
