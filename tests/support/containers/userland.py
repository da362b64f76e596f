"""Root file systems of container images, made of this machine's own programs: no registry and no network.

``gnu`` has what an image of SWE-bench has for an agent: bash, the GNU tools, git, and the Python that runs this, with
its standard library and without packages. ``tasks`` has Perl and Node.js as well, where this machine has them: the
languages of the example tasks. ``busybox`` has one program for everything, as Alpine's images do.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.support.agents.npm import NotInstalled

SEARCHED = "/usr/bin:/bin:/usr/sbin:/sbin"
"""Where programs are looked for: the system's own, whatever the user has put before them."""
NEEDED = (
    "bash basename cat chmod cp cut date dirname echo env find git grep head hostname id ln ls mkdir mktemp mv nl od"
    " printf pwd readlink rm rmdir sed seq sh sha256sum sleep sort stat tail tee test timeout touch tr true uname uniq"
    " wc xargs"
).split()
"""The programs of the GNU image; without one of them there is none."""
WANTED = "awk cmp diff gzip mkfifo patch ps realpath tar".split()
"""Programs that it has where this machine has them."""
FOLDERS = "dev etc proc root run sys tmp usr usr/bin usr/lib usr/lib64 usr/sbin var".split()
"""The folders of every image; ``bin`` and ``lib`` are links into ``usr``."""
MERGED = "bin lib lib64 sbin".split()
"""Folders of the root that are links to those of the same name in ``usr``."""
USERS = "root:x:0:0:root:/root:/bin/sh\n"
"""The users."""
LEFT_OUT = frozenset("__pycache__ ensurepip idlelib lib2to3 site-packages dist-packages test tests tkinter".split())
"""Folders of the standard library that no task needs."""


def gnu(to: Path, *further: str, beside: Iterable[Path] = ()) -> Path:
    """Write the archive of the GNU image; raises ``NotInstalled`` if this machine lacks a program of it.

    ``further`` are programs, and ``beside`` files, that are put into it too; a program that is not here is left out.
    """
    programs = {name: found for name in (*NEEDED, *WANTED, *further) if (found := shutil.which(name, path=SEARCHED))}
    if missing := [name for name in NEEDED if name not in programs]:
        raise NotInstalled(f"{missing[0]} is not in {SEARCHED}", "install it by the system's package manager")
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    library = Path(sysconfig.get_path("stdlib")).resolve()
    modules = list(_modules(library))
    files = {Path("/usr/bin", name): Path(found) for name, found in programs.items()}
    files |= {path: path for path in (python, *modules, *beside)}
    binaries = [*files.values()][: len(programs) + 1] + [path for path in modules if path.suffix == ".so"]
    files |= {path: path for path in libraries(binaries)}
    return _archive(to, files, {"/usr/bin/python3": str(python), "/usr/bin/python": str(python)})


def tasks(to: Path) -> Path:
    """Write the archive of the image for the example tasks."""
    perl = shutil.which("perl", path=SEARCHED)
    asked = [perl, "-Mstrict", "-e", 'print $INC{"strict.pm"}'] if perl else []
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout if asked else ""
    library = [path for path in Path(found).parent.rglob("*") if path.is_file()] if found else []
    return gnu(to, "perl", "node", beside=library)


def busybox(to: Path) -> Path:
    """Write the archive of the busybox image; raises ``NotInstalled`` where there is no busybox."""
    program = shutil.which("busybox", path=SEARCHED)
    if program is None:
        raise NotInstalled("there is no busybox on the path", "on Debian, `apt install busybox-static`")
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    files = {path: path for path in libraries([Path(program)])} | {Path("/usr/bin/busybox"): Path(program)}
    return _archive(to, files, {f"/usr/bin/{name}": "busybox" for name in listed if name != "busybox"})


def libraries(binaries: Iterable[Path]) -> Iterator[Path]:
    """The shared libraries that programs load, and the loader."""
    words = ["ldd", *map(str, binaries)]
    # Its status tells of scripts and of static programs, which load none.
    printed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    yield from map(Path, sorted(set(re.findall(r"(?:=> |^\s)(/\S+)(?= \()", printed, re.MULTILINE))))


def _modules(library: Path) -> Iterator[Path]:
    """The files of Python's standard library."""
    for folder, names, files in os.walk(library):
        names[:] = sorted(name for name in names if name not in LEFT_OUT and not name.startswith("config-"))
        yield from (Path(folder, name) for name in sorted(files))


def _archive(to: Path, files: dict[Path, Path], links: dict[str, str]) -> Path:
    """Write a root file system: ``files`` by their place in it, and symbolic ``links``."""
    with tarfile.open(to, "w") as archive:
        for name in FOLDERS:
            _add(archive, name, tarfile.DIRTYPE, mode=0o1777 if name == "tmp" else 0o755)
        for name in MERGED:
            _add(archive, name, tarfile.SYMTYPE, link=f"usr/{name}")
        _add(archive, "etc/passwd", tarfile.REGTYPE, USERS.encode(), mode=0o644)
        for place, source in files.items():
            data = source.read_bytes()
            _add(archive, _merged(place), tarfile.REGTYPE, data, mode=source.stat().st_mode & 0o777)
        for name, target in links.items():
            _add(archive, _merged(Path(name)), tarfile.SYMTYPE, link=target)
    return to


def _merged(place: Path) -> str:
    """The place of a file relative to the root, without passing the links of the root."""
    relative = place.relative_to("/")
    return f"usr/{relative}" if relative.parts[0] in MERGED else str(relative)


def _add(
    archive: tarfile.TarFile, name: str, kind: bytes, data: bytes = b"", *, mode: int = 0o777, link: str = ""
) -> None:
    """Add one entry, which belongs to root and is of no time."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.linkname, entry.size = kind, mode, link, len(data)
    archive.addfile(entry, io.BytesIO(data))
