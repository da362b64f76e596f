"""Where there is no doubt that nothing is written, and where there is."""

from __future__ import annotations

import pytest

from execledger.shell.classify import classify_command
from execledger.vocabulary.records import Effects


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py",
        "cat *.py | head -5",
        "grep -rn --include=*.py name .",
        "sed -n '10,20p' a.py",
        "sed -n '/def a/,/return/p' a.py",
        "nl -ba a.py | sed -n '1,5p'",
        "awk 'NR>=5 && NR<=9' a.py",
        "sort -u a.py | uniq -c",
        "find . -name '*.py' -type f",
        "for f in a b; do cat $f; done",
        "cd src && ls -la && wc -l *.py",
        "git --no-pager branch -a && git rev-parse --short HEAD",
        "bash -c 'cat a.py'",
        "test -f a.py && echo yes",
        "set -e; cat a.py",
        "rg -n name src",
    ],
)
def test_plain_looks_are_sure(command: str) -> None:
    """What agents do all day leaves everything as it was known."""
    record = classify_command(command, "/r")
    assert (record.effects, record.may_write) == (Effects.NONE, False)


@pytest.mark.parametrize(
    "command",
    [
        "uniq src/*.py",
        "find s -name a.py -exec sort b.py -o{} \\;",
        "echo a.py | xargs -I% sort b.py -o%",
        "sort b.py -{u,oa.py}",
        "find docs -name b.md -{print,delete}",
        "git diff",
        "git status --short",
        "git diff --{output=f,stat}",
        "git apply --stat --appl p.diff",
        "git rm -n --no-dry-run f",
        "git clean -f -e --dry-run",
        "PIP_LOG=out pip list",
        "NODE_OPTIONS='-r ./x' npm ls",
        "GOFLAGS=-toolexec=./x go list ./...",
        "npm_config_cache=x npm ls",
        "git --git-dir=fake status",
        "git branch new",
        "for x in $'1wa.py\\n1'; do sed -n \"${x}p\" b.py; done",
        "sed -n '\\,l\\,p;#,w a.py' b.py",
        "sed -n 's,[\\],x,w out],y,' f",
        'awk \'/[/"]|l/ { print "a;" > "a.py" }\' b.py',
        "perl -ne 's/value/$h{system \"touch zz\"}/; print' f",
        "test $(echo -v) 'a[$(echo >a.py)]'",
        "ss -D f",
        "tar -tf x --volno-file=new",
        "gzip -Sc f",
        "zstd -c f --trace=new",
    ],
)
def test_what_could_be_read_in_two_ways_may_write(command: str) -> None:
    """Each of these was once thought to look only, and wrote."""
    assert classify_command(command, "/r").may_write
