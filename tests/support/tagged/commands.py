"""Commands that look at files and that change them, in the many forms that a shell has for both."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path
from random import Random

from tests.support.tagged.world import World, rows

PLAIN = (
    *("cat -- {f}", "cat {f}", "cat -n -- {f}", "head -n {b} -- {f}", "tail -n +{a} -- {f}", "tail -n {k} -- {f}"),
    *("sed -n '{a},{b}p' -- {f}", "sed -n '{a},{b}p' -- {f}", "nl -ba -- {f} | sed -n '{a},{b}p'"),
)
"""Reads as agents type them."""
WHOLE = (
    *(
        "cat < {f}",
        "nl -ba -- {f}",
        "nl -- {f}",
        "sed -n p -- {f}",
        "sed '' -- {f}",
        "sed 's/^/> /' -- {f}",
        "awk 1 {f}",
    ),
    *(
        "awk '{{print NR\": \"$0}}' {f}",
        "awk 'FNR==NR' {f}",
        "cat -- {f} | cat",
        "tail -n +1 -- {f}",
        "head -n 999 -- {f}",
    ),
    *(
        "grep -n '' -- {f}",
        "grep '' -- {f}",
        "cat -A -- {f}",
        "cat -s -- {f}",
        "cat -b -- {f}",
        "less -- {f}",
        "more {f}",
    ),
    *(
        'while IFS= read -r l; do echo "$l"; done < {f}',
        "mapfile -t L < {f}; printf '%s\\n' \"${{L[@]}}\"",
        "tee < {f}",
    ),
    *('echo "$(< {f})"', 'x=$(cat -- {f}); echo "$x"', "cat <(cat -- {f})", "exec 3< {f}; cat <&3", "env cat -- {f}"),
    *("timeout 9 cat -- {f}", "bash -c 'cat -- \"$0\"' {f}", "command cat -- {f}", "\\cat -- {f}", "/bin/cat -- {f}"),
    *("if [ -f {f} ]; then cat -- {f}; fi", "for i in 1; do cat -- {f}; done", "{{ cat -- {f}; }}", "( cat -- {f} )"),
    *(
        "test -s {f} && cat -- {f}",
        "cat -- {f} && echo ok",
        'cat -- {f}; echo "exit $?"',
        "case x in x) cat -- {f};; esac",
    ),
    *(
        'f={f}; cat -- "$f"',
        'set -- {f}; cat -- "$1"',
        "find . -name {n} -exec cat {{}} +",
        "cat -- {f} {f}",
        "cat {glob}",
    ),
    *("find . -type f -name {n} | xargs -d '\\n' cat --", "printf '%s\\0' {f} | xargs -0 cat --", "cat -- {f} 2>&1"),
    "python3 -S -E -c 'import sys; sys.stdout.write(open(sys.argv[1], newline=\"\").read())' {f}",
    "python3 -S -E -c 'import sys\nfor i, l in enumerate(open(sys.argv[1]), 1): print(i, l, end=\"\")' {f}",
    *("perl -pe '' -- {f}", "perl -ne 'print \"$.: $_\"' -- {f}", "tac -- {f} | tac", "paste -- {f}", "pr -t -- {f}"),
    *("dd if={f} status=none", "cut -c1-60 -- {f}", "fold -w 40 -- {f}", "expand -- {f}", "sort -- {f}", "od -c {f}"),
    *("base64 {f}", "column -t {f}", "rev -- {f} | rev", "ls -la; cat -- {f}", "wc -l -- {f}", "cat -- {f} /dev/null"),
    *(
        "cd {d} && cat -- {n}",
        "cd {d}; cat -- {n}",
        "(cd {d} && cat -- {n})",
        "diff /dev/null {f}",
        "cmp {f} /dev/null",
    ),
    *("pushd {d} >/dev/null; cat -- {n}; popd >/dev/null", "cat -- {f} 2>/dev/null | head -c 9000"),
    "git --no-pager diff --no-index /dev/null {f}",
)
PART = (
    *("head -n {b} -- {f} | tail -n +{a}", "tail -n +{a} -- {f} | head -n {k}", "awk 'NR>={a} && NR<={b}' {f}"),
    *(
        "cat -n -- {f} | sed -n '{a},{b}p'",
        "cat -n -- {f} | head -n {b} | tail -n {k}",
        "head -{b} {f}",
        "sed '{b}q' -- {f}",
    ),
    *("sed -n '{a},$p' -- {f}", "sed -n '{a},+{k}p' -- {f}", "sed '{a},{b}!d' -- {f}", "sed '1,{a}d' -- {f}"),
    *("awk -v a={a} -v b={b} 'NR>=a&&NR<=b{{print NR\"\\t\"$0}}' {f}", "sed -n -e '{a}p' -e '{b}p' -- {f}"),
    *("sed -n '{a},{b}p;{b}q' -- {f}", "sed -n {a}\\,{b}p -- {f}", 'sed -n "{a},{b}p" -- {f} | cat -n'),
    *('s={a}; e={b}; sed -n "${{s}},${{e}}p" -- {f}', 'sed -n "$(( {a} )),{b}p" -- {f}', "sed -n '{a},{b}l' -- {f}"),
    *(
        "mapfile -s {a} -n {k} -t L < {f}; printf '%s\\n' \"${{L[@]}}\"",
        "perl -ne 'print if $. >= {a} && $. <= {b}' -- {f}",
    ),
    *(
        "cut -c1- -- {f} | sed -n '{a},{b}p'",
        "sed -n '{a},{b}p' -- {f} | grep -v '^$'",
        "sed -n '/K{i}v/,/K{j}v/p' -- {f}",
    ),
    *(
        "grep -n K -- {f} | sed -n '{a},{b}p'",
        "grep -n -A3 K{i}v -- {f}",
        "grep -n -B2 -A2 K{i} -- {f}",
        "head -c 400 {f}",
    ),
    *(
        "cd {d} && sed -n '{a},{b}p' -- {n}",
        "cd {d}; sed -n '{a},{b}p' -- {n}",
        "tail -c 300 -- {f}",
        "head -n -{k} -- {f}",
    ),
    *("sed -n '{a},{b}p' -- {f}; echo ---; sed -n '{b},{c}p' -- {f}", "sed -n '{a},{b}p;{c},$p' -- {f}"),
    *("tail -n {k} -- {f} | head -n 3", "awk 'NR=={a},NR=={b}' {f}", "awk 'NR>{a}{{print;}} NR>{b}{{exit}}' {f}"),
    *("sed -n '{a},{b}p' < {f}", "< {f} sed -n '{a},{b}p'", "sed -n '{a},{b}p' -- {f} | tee /dev/null"),
    *(
        "sed --quiet '{a},{b}p' -- {f}",
        "nl -ba -v{a} -- {f} | head -n {k}",
        "tail -n +{a} -- {f} | nl -ba -v{a} | head -n {k}",
    ),
)
SEARCHES = (
    *("grep -rn K{i}v .", "grep -n K{i}v -- {f}", "grep --color=always -n K{i} -- {f}", "grep -T -n K{i}v -- {f}"),
    *("grep -Z -rn K{i}v .", "grep -hn K{i}v -r .", "grep -nb K{i}v -- {f}", "grep -c K -- {f}", "grep -rl K{i}v ."),
    *(
        "grep -on 'K{i}v[0-9]*k' -- {f}",
        "grep K{i}v {glob}",
        "cd {d} && grep -rn K{i}v ..",
        "cd {d} && grep -n K{i}v -- {n}",
    ),
    *(
        'F={f}; grep -n K{i}v -- "$F"',
        "cat -n -- {f} | grep K{i}v",
        "tail -n +{a} -- {f} | grep -n K",
        "awk '/K{i}v/' {f}",
    ),
    *(
        "grep -n K{i}v -- {f} | cut -c1-60",
        "egrep -n 'K({i}|{j})v' {f}",
        "fgrep -n K{i}v {f}",
        "sed -n '/K{i}v/p' -- {f}",
    ),
    *('awk \'/K{i}v/{{print FILENAME":"NR":"$0}}\' {f}', "sed -n '/K{i}v/=' -- {f}", "ls -la", "wc -l {glob}", "pwd"),
    *(
        "md5sum -- {f}",
        "test -f {f} && echo there",
        "diff -- {f} {g}",
        "diff -u -- {f} {g}",
        "diff -y -W 100 -- {f} {g}",
    ),
    *("comm -- {f} {g}", "cmp -- {f} {g}", 'while read -r l; do case $l in K{i}v*) echo "$l";; esac; done < {f}'),
    "python3 -S -E -c 'import sys; print(open(sys.argv[1]).readlines()[{a}-1:{b}])' {f}",
    "python3 -S -E -c 'import sys; print([l for l in open(sys.argv[1]) if \"K{i}v\" in l])' {f}",
)
GIT = (
    *("git diff", "git diff --color=always", "git diff --word-diff", "git diff -U0", "git diff -R", "git diff --stat"),
    *(
        "git blame -- {f}",
        "git blame -s -- {f}",
        "git show",
        "git log -p -1",
        "git status --short",
        "git diff HEAD -- {f}",
    ),
    *(
        "git diff --cached",
        "git grep -n K{i}v",
        "git stash list -p",
        "git diff --no-color | grep '^[+-]'",
        "git diff | tail -20",
    ),
)

Range = tuple[int, int]


def named(world: World, random: Random, path: Path) -> str:
    """A word for the file: relative or absolute."""
    relative = str(path.relative_to(world.folder))
    plain = f"./{relative}" if relative.startswith("-") else relative
    return shlex.quote(str(path) if random.random() < 0.1 else plain)


def look(world: World, random: Random, path: Path, span: Range) -> str:
    """A command that shows something of a file."""
    kinds = (*(PLAIN,) * 5, WHOLE, WHOLE, PART, PART, SEARCHES, GIT if world.repository else SEARCHES)
    folder = path.parent.relative_to(world.folder)
    first, last = span
    return random.choice(random.choice(kinds)).format(
        f=named(world, random, path),
        g=named(world, random, random.choice(world.files)),
        d=shlex.quote(str(folder)),
        n=shlex.quote(path.name),
        glob=f"{shlex.quote(f'./{folder}')}/*[kcty1]",
        **{"a": first, "b": last, "c": last + 4, "k": last - first + 1},
        **{name: random.randint(1, max(1, world.lines)) for name in "ij"},
    )


def write(random: Random, word: str, old: str, new: str) -> str:
    """A command that makes ``new`` of the file's text ``old``."""
    old, new = old.replace("\0", ""), new.replace("\0", "")
    text = shlex.quote(new)
    forms = [
        *(f"printf %s {text} > {word}", f"printf %s {text} >| {word}", f"printf %s {text} | tee -- {word} >/dev/null"),
        *(f"printf %s {text} | dd of={word} status=none", f"printf %s {text} > .t.$$ && mv -f -- .t.$$ {word}"),
        *(f"printf %s {text} > .t && cat .t > {word}; rm -f .t", f"printf %s {text} > .t; install -- .t {word}; rm .t"),
        f'python3 -S -E -c \'import sys; open(sys.argv[1], "w", newline="").write(sys.argv[2])\' {word} {text}',
        f"python3 -S -E - {word} <<'PY'\nimport sys\nopen(sys.argv[1], 'wb').write({new.encode()!r})\nPY",
        *(f"perl -e 'open F,\">\",$ARGV[0]; print F $ARGV[1]' -- {word} {text}", f"{{ printf %s {text}; }} > {word}"),
        *(f"exec 5> {word}; printf %s {text} >&5; exec 5>&-", f"( printf %s {text} > {word} )"),
        *(f'f={word}; printf %s {text} > "$f"', f'for f in {word}; do printf %s {text} > "$f"; done'),
        *(f'w() {{ printf %s "$2" > "$1"; }}; w {word} {text}', f'bash -c \'printf %s "$1" > "$0"\' {word} {text}'),
        f'n={text}; printf %s "$n" > {word}',
    ]
    if new.endswith("\n") and "\r" not in new + old:
        body = f"<<'EOT'\n{new}EOT"
        forms += [f"cat > {word} {body}", f"tee -- {word} {body}", f"cat {body.replace('EOT', f'EOT > {word}', 1)}"]
        patch = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/f", "b/f"))
        if patch and old.endswith("\n"):
            forms += [f"patch -s -- {word} <<'EOP'\n{patch}EOP", f"patch -- {word} <<'EOP'\n{patch}EOP"]
    return random.choice(forms)


def edit(world: World, random: Random, path: Path) -> str:
    """A command that changes a file in place, restores it, or moves it about."""
    word, count = named(world, random, path), max(1, len(rows(world.text(path))))
    first = random.randint(1, count)
    last = min(count, first + random.choice((0, 0, 1, 3, 8)))
    new = world.new_line(random.randint(1, max(1, world.lines))).split()[0]
    forms = [
        *(f"sed -i '{first},{last}d' -- {word}", f"sed -i '{first}d' -- {word}", f"sed -i '{first}i\\{new}' -- {word}"),
        *(
            f"sed -i '{first}a\\{new}' -- {word}",
            f"sed -i '{first}c\\{new}' -- {word}",
            f"sed -i.bak '{first}d' -- {word}",
        ),
        *(f"sed -i -e '{first}s/v[0-9]*k/v9{world.versions}k/' -- {word}", f"sed -i '$!N;$!D' -- {word}"),
        *(f"perl -pi -e 's/v(\\d+)k/v7$1k/ if $. == {first}' -- {word}", f"perl -0pi -e 's/\\n\\n/\\n/g' -- {word}"),
        *(f"perl -ni -e 'print unless $. == {first}' -- {word}", f"awk 'NR!={first}' {word} > .n && mv .n {word}"),
        *(
            f"echo '{new}' >> {word}",
            f"printf '%s\\n' '{new}' '}}' >> {word}",
            f"truncate -s -{random.randint(1, 90)} {word}",
        ),
        *(
            f": > {word}",
            f"head -n {last} -- {word} > .n; mv .n {word}",
            f"tail -n +{first} -- {word} > .n && mv .n {word}",
        ),
        *(
            f"tac -- {word} > .n && mv .n {word}",
            f"sort -o {word} -- {word}",
            f"printf '{first}d\\nwq\\n' | ed -s {word}",
        ),
        *(f"{{ echo '{new}'; cat -- {word}; }} > .n && mv .n {word}", f"tr a-z A-Z < {word} > .n && mv .n {word}"),
        *(f"cp -- {word} {word}.orig", f"cp -- {word}.orig {word}", f"mv -- {word}.bak {word}", f"rm -f -- {word}"),
        *(
            f"cp -p -- {word} .save; sed -i '{first},{last}d' -- {word}",
            f"cp .save {word}",
            f"[ -f .save ] && mv .save {word}",
        ),
        *(f"cat -- {word} {word} > .n && mv .n {word}", f"sed -i 's/$/\\r/' -- {word}", f"sed -i 's/\\r$//' -- {word}"),
        *(
            f"sed -i '{first}{{h;d}};{last}G' -- {word}",
            f"touch -- {word}",
            f"sed -i '{first}d' -- {word} && git diff --stat",
        ),
        f"dd if=/dev/zero bs=1 count=3 conv=notrunc of={word} status=none",
    ]
    if world.repository:
        forms += 2 * [
            *(
                f"git checkout -q -- {word}",
                f"git checkout -q HEAD -- {word}",
                f"git checkout -- {word}",
                "git stash -q",
            ),
            *("git stash pop -q", "git stash", "git stash pop", "git reset -q --hard", f"git restore -- {word}"),
            *(
                "git add -A && git commit -qm more",
                "git diff > .p; git checkout -q -- . ; git apply .p",
                "git clean -qfd",
            ),
            *("git diff > .q && git checkout -q -- .", "git apply .q", "git apply -R .q", "patch -p1 -R < .q"),
            *(
                "git checkout -q HEAD~1 -- .",
                "git revert -n HEAD || git revert --abort",
                "git commit -qam x; git reset -q --hard HEAD~1",
            ),
        ]
    return random.choice(forms)
