"""Shell commands made by a grammar: all constructs of bash, with hostile variables, odd spacing and damaged text.

Everything is drawn from one seeded source, so a seed is a command. The vocabulary is harmless: files of a scratch
folder by relative names, and programs that read, create, edit or remove these. ``is_safe`` refuses whatever names
another place.
"""

from __future__ import annotations

import re
from random import Random

FILES = ("a.py", "b.txt", "d/c.txt", "nul.bin", "marks.txt", "bare.txt")
"""Files that exist."""
NEW = ("NEW", "d/NEW", "new.txt")
"""Files that don't."""
HOSTILE = "q[$(touch NEW)]"
"""A value that runs a command where it is evaluated."""
VARIABLES = {
    "x": HOSTILE,
    "y": HOSTILE,
    "o": "-o NEW",
    "v": "-v q[$(touch${IFS}NEW)]",
    "c": "touch NEW",
    "p": "$(touch NEW)",
    "w": "NEW",
    "f": "a.py",
    "n": "3",
    "s": "q[$(>NEW)]",
    "t": "3 touch NEW ",
    "u": "600 a.py",
    "e": "",
}
"""The environment of every command."""

_ELSEWHERE = re.compile(r"(?:^|[\s>=(])/(?!dev/null\b)|\.\.(?!\d)|~")
_PIECES = (
    "a", " ", "{b}", "{", "}", ">NEW", "'q'", '"q"', "$(touch NEW)", "`touch NEW`", "$w", "(", ")", "\\}", "/", "#",
    ";", "|", "&", "<a.py", "b", "*", "\\", "$x", "${e}", "\n", "'", '"', "!", "=", ":", "@", "[", "]", "-", ",", "^",
    "%", "+", "?", "0", "1", "{b}>NEW ", "}>NEW {", ";touch NEW;", "&touch NEW&", "|tee NEW|",
)  # fmt: skip


def is_safe(command: str) -> bool:
    """No word of it names a place outside of the scratch folder."""
    return not _ELSEWHERE.search(command) and "HOME" not in command and len(command) < 2_000


def command(seed: int) -> str:
    """The command of a seed; the first safe one."""
    random = Random(seed)
    while True:
        made = Grammar(random).script()
        if is_safe(made):
            return made


class Grammar:
    """Rules that draw from one source; ``fuel`` bounds how deep they go."""

    def __init__(self, random: Random, fuel: int = 14) -> None:
        """Draw from ``random``."""
        self.random = random
        self.fuel = fuel

    def script(self) -> str:
        """A whole command, perhaps damaged."""
        text = self.list()
        for _ in range(self.random.choice((0, 0, 0, 0, 0, 0, 1, 1, 2))):
            text = self._damaged(text)
        return text

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def _damaged(self, text: str) -> str:
        at = self.random.randrange(len(text) + 1)
        kind = self.random.randrange(4)
        if kind == 0:
            blank = [found.start() for found in re.finditer(" ", text)]
            at = self.random.choice(blank) if blank else at
            return text[:at] + text[at + 1 :]
        if kind == 1:
            return text[:at] + self._pick(*_PIECES) + text[at:]
        if kind == 2:
            return text[:at] + "\\\n" + text[at:]
        return text[:at] + text[at + self.random.randrange(1, 4) :]

    def list(self) -> str:
        """Commands joined by operators."""
        text = self.pipeline()
        while self.fuel > 0 and self._chance(3):
            text += self._pick("; ", " && ", " || ", "\n", " & wait; ", " # c'omment\n", ";") + self.pipeline()
        return text

    def pipeline(self) -> str:
        """Commands joined by pipes."""
        text = self._pick("", "", "", "", "", "! ", "time ", "time -p ") + self.command()
        while self.fuel > 0 and self._chance(5):
            text += self._pick(" | ", " |& ", "|", " |\n") + self.command()
        return text

    def command(self) -> str:
        """A simple or compound command."""
        self.fuel -= 1
        rules = (
            self.reader, self.reader, self.reader, self.reader, self.view, self.view, self.writer, self.writer,
            self.wrapped, self.wrapped, self.builtin, self.builtin, self.builtin, self.compound, self.compound,
            self.assignment, self.printer, self.printer, self.printer,
        )  # fmt: skip
        rule = self.random.choice(rules) if self.fuel > 0 else self.reader
        return rule()

    # Words

    def file(self) -> str:
        """The name of a file, mostly one that exists."""
        name = self._pick(*FILES, *FILES, *FILES, *NEW)
        return self._pick(name, name, name, name, f"'{name}'", f'"{name}"', f"./{name}", "$f", '"$f"', "*.py", "$w")

    def word(self) -> str:
        """Any word."""
        if self._chance(3):
            return self.file()
        text = self._pick("", "", "", "a", "-", '"', "x=") + self.expansion()
        if text.startswith('"'):
            text += self._pick("", "b", self.expansion()) + '"'
        return text + self._pick("", "", "", "b", "'c d'", "{a,b}", "*", "[ab]", "\\ ", self.expansion())

    def name(self) -> str:
        """A variable."""
        return self._pick(
            *VARIABLES, "a", "m", "RANDOM", "SECONDS", "OPTIND", "LINENO", "1", "@", "*", "#", "?", "PATH"
        )

    def variable(self) -> str:
        """A variable that may be set."""
        return self._pick("m", "m", "k", "x", "RANDOM", "SECONDS", "OPTIND", "q", "i", "a")

    def text(self) -> str:
        """The text inside of ``${...}``."""
        return "".join(self._pick(*_PIECES) for _ in range(self.random.choice((0, 1, 1, 1, 2, 2, 3, 4))))

    def subscript(self) -> str:
        """The text in brackets after a name."""
        return self._pick("0", "-1", "@", "*", "x", "y", "$n", "$x", "n", "1+1", "x+1", "$(touch NEW)", '"$x"', "q[0]")

    def expression(self) -> str:
        """Arithmetic."""
        terms = (
            "1 2 n x y $n $x q[x] m=1 m++ $(:) (1+2) m $((1)) x[0] 1?2:3 `:` ${n} ${x} ${#x} 0x1f 2#1 $# s $s".split()
        )
        parts = [self._pick(*terms) for _ in range(self.random.choice((1, 1, 2, 3)))]
        return self._pick("+", " + ", "*", ",", " < ", "==", "&&", "|").join(parts)

    def offset(self) -> str:
        """Where a part of a value begins or ends."""
        return self._pick("0", "1", " -1", "n", "x", "y", "$n", "$x", "(1)", "1+1", "q[x]", "$(touch NEW)", "s")

    def expansion(self) -> str:
        """Any expansion."""
        self.fuel -= 1
        name = self.name()
        operator = self._pick(
            ":-", "-", ":+", "+", ":?", ":=", "=", "#", "##", "%", "%%", "/", "//", "/#", "/%", "^", ",,"
        )
        choices = [
            f"${name}", f"${{{name}}}", f"${{#{name}}}", f"${{!{name}}}", f"${{{name}{operator}{self.text()}}}",
            f"${{{name}{operator}{self.text()}}}", f"${{{name}{operator}{self.text()}}}",
            f"${{{name}{operator}{self.text()}/{self.text()}}}", f"${{a[{self.subscript()}]}}",
            f"${{#a[{self.subscript()}]}}", f"${{{name}:{self.offset()}}}",
            f"${{{name}:{self.offset()}:{self.offset()}}}", f"${{a[@]:{self.offset()}}}",
            f"${{{name}@{self._pick('P', 'Q', 'E', 'A', 'U', 'a')}}}", f"${{!{name}@}}", f"${{!{name}[@]}}",
            f"${{{name}[{self.subscript()}]{operator}{self.text()}}}", f"$(({self.expression()}))",
            f"$(( {self.expression()} ))", f"$[{self.expression()}]", "$'a\\x41'", '$"a"',
            f"$'{self._pick('a', 'b c', '>NEW')}'",
        ]  # fmt: skip
        if self.fuel > 0:
            choices += [f"$({self.list()})", f"`{self.command()}`", f"<({self.list()})", f"$( {self.list()} )"]
        return self.random.choice(choices)

    # Redirections

    def redirects(self) -> str:
        """None, one or two redirections."""
        if not self._chance(4):
            return ""
        target = self.file()
        return self._pick(
            f" > {target}", f" >{target}", f" 2> {target}", f" 2>&1 > {target}", f" >> {target}", f" >| {target}",
            f" &> {target}", f" {{fd}}> {target}", f" {{a[x]}}>{target}", f" < {self._pick(*FILES)}", f" <> {target}",
            " 2>/dev/null", " > /dev/null", " 2>&1", " >&2", " 3>&1", " >&-", f" <<< {self.word()}",
            f" 2>&1 >> {target}", f" 3> {target} >&3", f" > >(cat > {target})", f" < <(cat {target})", f" 1>{target}",
            f" >&{target}", " <&-", f' > "{target.strip(chr(34))}"', f" >{self.expansion()}",
        )  # fmt: skip

    def here(self, reader: str) -> str:
        """A command with a here-document."""
        quote = self._pick("", "'", '"', "\\")
        end = {"": "E", "'": "'E'", '"': '"E"', "\\": "\\E"}[quote]
        lines = (
            "text",
            f"x {self.expansion()}",
            "E ",
            "\tE",
            "$(touch NEW)",
            "`touch NEW`",
            "it's",
            '"q',
            "\\",
            "${x}",
            "EE",
        )
        body = "\n".join(self._pick(*lines) for _ in range(self.random.randrange(3)))
        behind = self._pick("", "", f" > {self.file()}", " | cat", "; cat a.py", " && touch NEW")
        return f"{reader} {self._pick('<<', '<<-', '<< ')}{end}{behind}\n{body}\nE\n"

    # Simple commands

    def view(self) -> str:
        """A plain read of one file, in many ways."""
        first, last = sorted((self.random.randrange(0, 9), self.random.randrange(0, 9)))
        name = self._pick(*FILES)
        program = self._pick(
            "cat {f}", "cat -n {f}", "nl -ba {f}", "nl {f}", "grep '' {f}", "grep -n '' {f}", "grep -n ^ {f}",
            "head -n {b} {f}", "head -{b} {f}", "tail -n {b} {f}", "tail -n +{a} {f}", "tail -{b} {f}",
            "sed -n {a},{b}p {f}", "sed -n '{a},$p' {f}", "sed {b}q {f}", "sed {a},{b}d {f}", "sed '{a},{b}!d' {f}",
            "sed -n '{a}p;{b}p' {f}", "sed -n -e {a}p -e {b}p {f}", "sed -n '{a},+2p' {f}", "sed -n '{a}p\n{b}p' {f}",
            "awk 'NR>={a} && NR<={b}' {f}", "awk 'NR=={a}' {f}", "awk 'NR=={a}\n{{print}}' {f}", "awk 1 {f}",
            "awk 'NR=={a},NR=={b}' {f}", "awk 'NR>{a}{{print NR\": \"$0}}' {f}", "awk 'NR=={a};{{print}}' {f}",
            "awk '{{print}}' {f}", "awk 'NR<{b}\n' {f}", "awk '# c\nNR<{b}' {f}", "awk -v n=1 'NR>{a}' {f}",
            "awk 'NR=={a} {{print;}} {{print}}' {f}", "awk 'NR>={a}&&NR<={b}||1' {f}",
            "awk 'NR=={a}{{print $0; exit}}' {f}", "cat {f} | head -n {b}", "cat {f} | tail -n +{a} | head -n {b}",
            "nl -ba {f} | sed -n {a},{b}p", "cat < {f}", "head -n {b} < {f}", "cat {f} | cat -n", "cat -A {f}",
            "cat {f} {f}", "sed '' {f}", "sed p {f}", "sed -n '$p' {f}", "sed '$d' {f}", "sed -n '/a/p' {f}",
            "sed s/a/b/ {f}", "less {f}", "cat -s {f}", "cat {f} | awk 'NR>{a}'", "cat {f} | grep ''",
            "cat {f} | xargs cat", "cat {f} | xargs -I% cat", "! true && cat {f}", "true && cat {f}", "cat -u {f}",
            "tail -n {b} {f} | head -n 2", "sed -n {a}p {f} | cat", "sed -s -n {a}p {f}", "sed -z p {f}",
            "head -c 5 {f}", "head -qn {b} {f}", "sed '#n\n{a}p' {f}", "sed -n '{a}{{p}}' {f}",
            "sed -n '{a},{b}{{p;p}}' {f}", "tail -n -{b} {f}", "head -n -{b} {f}", "sed -n '{a}~2p' {f}",
            "sed -n '0~{b}p' {f}", "cat {f} -", "cat - < {f}", "cat -- {f}", "cat {f} 2>&1",
        )  # fmt: skip
        return program.format(f=name, a=first, b=last)

    def reader(self) -> str:
        """A program that looks, with words of any kind."""
        text = self._pick(
            "cat {0}", "cat {0} {1}", "head -n 3 {0}", "tail -n 2 {0}", "wc -l {0}", "sort {0}", "sort {0} {1}",
            "sort -r {0}", "uniq {0}", "cut -c1 {0}", "grep a {0}", "grep -r a d", "ls {0}", "ls", "stat {0}",
            "diff {0} {1}", "cmp {0} {1}", "sed -n 1,3p {0}", "sed s/a/b/ {0}", "sed -n '/a/,/b/p' {0}",
            "sed 'y/[/]/;p' {0}", "sed -e 's/[/]/x/' {0}", "sed -n '1w NEW' {0}", "sed 's/a/b/w NEW' {0}",
            "sed '1e touch NEW' {0}", "sed 'y/[/]/;w NEW' {0}", "sed '1{{w NEW\n}}' {0}", "sed 'a x\nw NEW' {0}",
            "awk '{{print $1}}' {0}", "awk 'NR>2' {0}", "awk '{{print > \"NEW\"}}' {0}",
            "awk '/a/{{print $1/2}}' {0}", "awk 'BEGIN{{system(\"touch NEW\")}}' {0}",
            "awk '{{print | \"cat > NEW\"}}' {0}", "awk '$1 > 2' {0}", "awk '{{ if ($1 > 2) print }}' {0}",
            "awk '{{print $1 > 2}}' {0}", 'awk \'/"/{{print "x" > "NEW"}}\' {0}', "find . -name {0}",
            "find . -type f", "find d -name '*.txt' -exec cat {{}} +", "find {0} -print", "find . -name NEW -delete",
            "find . -exec touch NEW \\;", "find . -fprint NEW", "find . -fls NEW",
            "find . -maxdepth 1 -exec {2} {{}} \\;", "tr a b < {0}", "tac {0}", "od -c {0}", "nl {0}", "tee < {0}",
            "basename {0}", "dirname {0}", "realpath {0}", "test -f {0}", "[ -f {0} ]", "[[ -f {0} ]]",
            "paste {0} {1}", "comm {0} {1}", "join {0} {1}", "fold -w 5 {0}", "expand {0}", "rev {0}", "base64 {0}",
            "md5sum {0}", "du {0}", "file {0}", "tree", "xxd {0}", "date", "seq 3", "expr 1 + 2", "sort -o NEW {0}",
            "uniq {0} {1}", "sort --output=NEW {0}", "sort --out NEW {0}", "sort -uo{0} {1}", "split {0}",
            "csplit {0} 2", "perl -ne print {0}", "perl -pe 's/a/b/' {0}", "perl -ne 'print if /a/' {0}",
            "perl -pe 's/a/`touch NEW`/e' {0}", "true", "false", ":", "pwd", "type cat", "command -v cat",
            "which cat", "ls -l {0} {1}", "tar tf {0}", "tar cf NEW {0}", "gzip -c {0}", "gzip -k {0}",
            "truncate -s 1 {0}", "diff <(cat {0}) {1}", "cat <(cat {0})", "cat $(ls)", "grep -f {0} {1}",
            "diff3 --diff-program=touch {0} {1} NEW", "tree -o NEW", "file -C -m {0}", "xargs -a {0} echo",
        )  # fmt: skip
        return text.format(self.word(), self.file(), self._pick("cat", "wc -l", "sort -o NEW", "sed -i 1d", "echo"))

    def full(self, text: str) -> str:
        """A simple command with redirections, perhaps with a here-document."""
        return self.here(text) if self._chance(9) else text + self.redirects()

    def printer(self) -> str:
        """Words printed, with all their expansions."""
        words = " ".join(self.word() for _ in range(self.random.choice((1, 1, 2))))
        return self.full(
            self._pick("echo ", "echo ", "printf '%s\\n' ", "printf %d ", ": ", "echo -n ", "printf ") + words
        )

    def writer(self) -> str:
        """A program that changes files."""
        text = self._pick(
            "touch {0}", "rm -f {0}", "sed -i 1d {0}", "sed -i.bak 1d {0}", "sed -i -e 1d {0}", "sed -ni 1p {0}",
            "cp {0} {1}", "mv {0} {1}", "tee {0} < {1}", "cat {0} | tee {1}", "mkdir -p d/n", "rmdir d/n",
            "echo x > {0}", "> {0}", "cp {0} {1} d", "cp -t d {0}", "ln -s a.py {0}", "truncate -s 0 {0}",
            "dd if={0} of={1} status=none", "install -m 644 {0} {1}", "chmod 600 {0}", "perl -pi -e 's/a/b/' {0}",
            "sed --in-place 1d {0}", "unlink {0}", "cat {0} >> {1}", "tee -a {0} {1} < a.py", "cp --backup {0} {1}",
            "mv -t d {0}", "touch -r {0} {1}", "touch -d $u {0}", "chmod $u {0}", "truncate -s $u {0}",
            "head -n $t {0}", "cp -S $u {0} {1}",
        )  # fmt: skip
        return text.format(self.file(), self.file()) + self.redirects()

    def wrapped(self) -> str:
        """A command behind a wrapper."""
        inner = self._pick(
            "cat a.py", "touch NEW", "rm -f a.py", "sed -i 1d b.txt", "echo", "cat", "touch cat", "rm cat",
            "sort -o NEW", self.reader(), self.builtin(),
        )  # fmt: skip
        quoted = "'" + inner.replace("'", "'\"'\"'") + "'"
        wrapper = self._pick(
            "env", "env -i", "env -u x", "env A=b", "env --", "env -C d", "env -S", "env x=y", "timeout 5",
            "timeout -k 1 5", "timeout $t", "timeout -k $t 5", "nice -n $t", "env A=$t", 'env A="$t"', "env -u $t",
            "exec -a $t", "xargs -n $t", "stdbuf -o $t", 'timeout "$n"', "timeout $n", "timeout --signal KILL 5",
            "timeout -s KILL 5", "nice", "nice -n 3", "nice -5",
            "nice --adjustment 3", "command", "builtin", "exec", "exec -a x", "time", "time -p", "nohup",
            "stdbuf -oL", "stdbuf -o L", "setsid -w", "xargs", "xargs -n 1", "xargs -I{}", "xargs -I {}", "xargs -i",
            "xargs -i{}", "xargs --replace", "xargs --replace={}", "xargs --max-lines", "xargs --max-lines=1",
            "xargs -l", "xargs -l1", "xargs -L 1", "xargs -L1", "xargs -e", "xargs -eE", "xargs -E x", "xargs --eof",
            "xargs --eof=x", "xargs -0", "xargs -r", "xargs -t", "xargs -d x", "xargs --max-args 1",
            "xargs --max-args=1", "xargs --max-procs=1", "xargs -P 1", "xargs -a a.py", "xargs --arg-file a.py",
            "xargs -s 200", "xargs --null", "xargs --process-slot-var=m", "xargs -x", "xargs -o", "sudo -n",
            "bash -c", "sh -c", "bash -ec", "bash -O extglob -c", "bash -o posix -c", "eval", "coproc", "command -p",
            "command --", "env -", "nice -n3", "xargs -n1 -I{}", "xargs -I{} -n1", "timeout 5 xargs", "xargs env",
            "env xargs",
        )  # fmt: skip
        plain = quoted if wrapper.endswith(" -c") or wrapper.endswith("ec") or wrapper in ("eval", "env -S") else inner
        fed = self._pick("", f"echo {self._pick('NEW', 'a.py', '-o NEW', 'x', '{}')} | ", "cat b.txt | ")
        return f"{fed if 'xargs' in wrapper else ''}{wrapper} {plain}" + self.redirects()

    def builtin(self) -> str:
        """A builtin that may evaluate what it is given."""
        name, word, text = self.variable(), self.word(), self.expression()
        return self._pick(
            f"let {name}={text}", f"let '{text}'", f"declare {name}={word}", f"declare -i {name}={word}",
            "declare -i m=x", f"declare -a {name}={word}", "declare -a m='($(touch NEW))'", "declare -a m=(1 2)",
            "declare m='($(touch NEW))'", "declare -a m; declare m='($(touch NEW))'", f"declare -n {name}=x",
            f"export {name}={word}", f"readonly k={word}", f"declare '{name}[x]=1'",
            f"export 'm[{self.subscript()}]=1'", f"unset {word}", f"unset 'q[{self.subscript()}]'",
            f"read {name} < {self._pick(*FILES)}", f"read {word} <<< {word}", f"read 'q[{self.subscript()}]' <<< 1",
            f"read SECONDS <<< {word}", f"printf -v {name} %s {word}", f"printf -v 'q[{self.subscript()}]' 1",
            f"printf {word}", f"test {word}", f"[ {word} ]", f"[ {word} {word} ]", f"[ $n -eq {word} ]",
            '[ "$x" -eq "$y" ]', "[ $v ]", f"[ -v {word} ]", f"[ {word} -gt 1 ]", f'[ "{self.expansion()}" = "$y" ]',
            f"test -v 'q[{self.subscript()}]'", f"[[ {word} -eq {word} ]]", f"[[ {text} -lt 3 ]]", f"[[ -v {word} ]]",
            f"[[ {word} == {word} ]]", f"[[{word} > a.py ]]", f"[[ {word} =~ {word} ]]", "[[ $x =~ ^(a|b)$ ]]",
            f"[[ ({word} == a) && ! -f NEW ]]", "[[ $n -gt 2 ]]", "[[ x -eq 1 ]]", f"[[ {word} > a.py ]]",
            f"[[ {word} < b ]]", f"[[ -n {word} || {word} -nt a.py ]]", f"(({text}))", f"(( {text} ))",
            f"mapfile {name} < a.py", f"mapfile -C {word} -c 1 m < a.py", "mapfile -C 'touch NEW' -c 1 m < a.py",
            f"getopts ab {name}", f"shift {self._pick('1', 'x', '$x')}", f"exit {word}", f"return {word}",
            f"wait -p {name}", f"trap {word} EXIT", "trap 'touch NEW' EXIT", "trap - EXIT",
            f"cd {self._pick('d', '.', '$e', 'nowhere')}", f"set -- {word}", "set -e", "set -x", "set -k; echo x=1",
            "shopt -s extglob", "shopt -s nullglob", "shopt -s expand_aliases", f"hash -p ./{self._pick(*FILES)} cat",
            f"enable {word}", f"type {word}", f"alias m={word}", f"umask {word}", f"ulimit -n {word}", f"eval {word}",
            f"source {self.file()}", f"builtin {word}", f"break {word}", "history -w NEW", f"local m={word}",
            f"typeset -i {name}={word}", f"exec {self.redirects()}", f"pushd {word}", "popd", "dirs", "times",
            f"hash {word}", f"command {word}", "compgen -C 'touch NEW'", "jobs -x touch NEW", "bind -x x",
            "kill -0 x", "fc -l",
        )  # fmt: skip

    def assignment(self) -> str:
        """Variables set, alone or before a command."""
        name = self.variable()
        value = self._pick(
            self.word(), self.word(), f"({self.word()} {self.word()})", f"([{self.subscript()}]={self.word()})", "$x",
            "'q[$(touch NEW)]'", "1",
        )  # fmt: skip
        target = self._pick(name, name, f"{name}[{self.subscript()}]", f"{name}+")
        behind = self._pick(
            "", "", "; echo $m", f" {self.printer()}", f" {self.reader()}", f"; echo {self.expansion()}"
        )
        return f"{target}={value}{behind}"

    # Compound commands

    def compound(self) -> str:
        """A compound command, in one of many spellings."""
        one, two = self.list(), self.list()
        name = self._pick("i", "m", "x", "RANDOM", "SECONDS", "PATH")
        bounds = self._pick(
            "i=0;i<2;i++", "i=0; i<n; i++", "i=x;i<1;i++", f"i=0;i<2;i+={self._pick('1', 'x', 'n')}", "m=0;m<1;m++"
        )
        pattern = self._pick("*", "a", "a|b", "$x", f"{self.expansion()}", "'q'", "[ab]", "x*", "(a")
        text = self._pick(
            f"if {one}; then {two}; fi", f"if {one}\nthen\n{two}\nfi", f"if {one}; then {two}; else {one}; fi",
            f"if [[ -f a.py ]]; then {two}; elif {one}; then :; fi", f"for {name} in {self.word()} b; do {one}; done",
            f"for {name} in a b; do\n{one}\ndone", f"for {name}; do {one}; done", f"for {name} in a; {{ {one}; }}",
            f"for (({bounds})); do {one}; done", f"for (({bounds})) {{ {one}; }}",
            f"for (( {bounds} ))\ndo {one}\ndone", f"for(({bounds}));do {one};done", f"while false; do {one}; done",
            f"until true; do {one}; done", f"while read {name}; do {one}; break; done < a.py",
            f"case {self.word()} in {pattern}) {one};; esac", f"case x in {pattern}) {one} ;; *) {two} ;; esac",
            f"case x in {pattern}) {one} ;& b) {two} ;;& esac",
            f"case {self.expansion()} in\n{pattern})\n{one}\n;;\nesac", f"{{ {one}; }}", f"{{ {one}\n}}",
            f"( {one} )", f"({one})", f"( {one}; {two} )", f"{{ {one}; }} && {{ {two}; }}",
            f"select {name} in a b; do {one}; break; done", f"f() {{ {one}; }}; f", f"function f {{ {one}; }}; f",
            f"f() ( {one} )\nf", f"coproc {{ {one}; }}; wait", f"time {{ {one}; }}", f"! {{ {one}; }}",
            f"while :; do {one}; break; done", f"until {one}; do break; done", f"if ! {one}; then {two}; fi",
            f"(({self.expression()})) && {two}", f"((({self.expression()})))", f"(( {self.expression()} )) || {one}",
            f"for {name} in $(ls); do {one}; done", f"for {name} in *; do cat $i; done", f"if ({one}) then {two}; fi",
        )  # fmt: skip
        return text + self.redirects()
