"""Build tools of many languages: each has subcommands or targets that test, set up, format or run."""

from __future__ import annotations

import re

from msgspec import Struct

from execledger.shell.facts import Facts, Invocation, Part, Variables, doubted, runs
from execledger.shell.options import literal_word
from execledger.shell.programs.shared import about_itself, given, inner, operands, strongest, subcommand, texts
from execledger.shell.programs.test_runners import TEST
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

SETUP = runs(Category.SETUP)
"""It builds or sets up: anything may change."""
FORMAT = runs(Category.MODIFY, scope=Scope.TREE)
"""It rewrites sources."""
RUN = runs(Category.OTHER, reproduces=True)
"""It runs the project's own code."""
LOOK = Part(category=Category.SEARCH, foreign=True)
"""It looks; what it prints is not compared, for it may ask the network."""

TESTS = frozenset("test tests tst spec specs jest vitest mocha e2e unit integration coverage cov tox pytest".split())
FORMATS = frozenset("format fmt fix autofix black isort prettier".split())
OTHERS = frozenset("lint type types typecheck mypy flake8 doc docs html bench serve start dev run watch".split())
CHECKS = frozenset(("check", "verify"))
SETUPS = frozenset(
    """
    all build install clean distclean setup init deps develop compile prepare configure bootstrap dist wheel inplace
    package bundle generate gen
    """.split()
)


def task(name: str) -> Part | None:
    """A project's task, if the words of its name say what it is: ``test:unit``, ``lint-fix``, ``build``."""
    words = re.split(r"[-:_.]", name)
    said = set(words)
    if words[0] in TESTS or words[-1] in TESTS:
        return TEST
    if said & FORMATS and not said & CHECKS:
        return FORMAT
    if said & (OTHERS | FORMATS):
        return runs(Category.OTHER)
    if said & (TESTS | CHECKS):
        return TEST
    return SETUP if said & SETUPS else None


MAKE = ("-C", "--directory", "-f", "--file", "--makefile", "-I", "--include-dir", "-o", "-W", "-l")


def make(call: Invocation) -> Part:
    """Its targets say what it does; without one it builds."""
    if about := about_itself(call, "-v"):
        return about
    names = (name or "" for name in operands(call.args, MAKE))
    targets = [name for name in names if not re.fullmatch(r"\d+|\w+=.*", name)]
    parts = [task(name) or (runs(Category.OTHER) if name else SETUP) for name in targets] or [SETUP]
    category = strongest(*(part.category for part in parts))
    return runs(category, scope=max(part.scope for part in parts))


class Tool(Struct, frozen=True):
    """The subcommands of one build tool."""

    test: frozenset[str] = frozenset()
    """They run tests."""
    setup: frozenset[str] = frozenset()
    """They build or install."""
    format: frozenset[str] = frozenset()
    """They rewrite sources."""
    run: frozenset[str] = frozenset()
    """They run the project's program or a script."""
    look: frozenset[str] = frozenset()
    """They only look."""
    valued: tuple[str, ...] = ()
    """Options before the subcommand that take the next word."""


def _tool(test: str = "", setup: str = "", format: str = "", run: str = "", look: str = "", valued: str = "") -> Tool:
    tested, built, formatted, ran, looked = (frozenset(words.split()) for words in (test, setup, format, run, look))
    return Tool(tested, built, formatted, ran, looked, tuple(valued.split()))


TOOLS: dict[str, Tool] = {
    "cargo": _tool(
        test="test t nextest bench miri llvm-cov tarpaulin",
        setup="build b check c add fetch install update remove vendor clean generate-lockfile init new",
        format="fmt fix",
        run="run r",
        look="version help search locate-project read-manifest",
        valued="--manifest-path --config --color -Z -C",
    ),
    "go": _tool(
        test="test",
        setup="mod get build install generate clean work",
        format="fmt fix",
        run="run tool",
        look="version env list doc help",
        valued="-C",
    ),
    "dotnet": _tool("test vstest", "build restore add new publish pack clean tool", "format", "run exec"),
    "swift": _tool("test", "build package", "format", "run repl"),
    "bazel": _tool("test coverage", "build fetch sync clean", "", "run", "version help"),
    "bazelisk": _tool("test coverage", "build fetch sync clean", "", "run", "version help"),
    "mix": _tool("test", "deps.get compile deps.compile local.hex", "format", "run", "help"),
    "deno": _tool("test bench", "cache install add compile upgrade", "fmt", "run eval repl task", "types help"),
    "stack": _tool("test", "build setup install init", "", "exec run runghc"),
    "cabal": _tool("test new-test v2-test", "build update install configure", "format", "run exec"),
    "sbt": _tool("test testOnly testQuick", "compile package update clean publishLocal", "scalafmt scalafmtAll", "run"),
    "flutter": _tool("test drive", "pub build create", "format", "run"),
    "dart": _tool("test", "pub compile create", "format fix", "run"),
    "zig": _tool("test", "build init", "fmt", "run"),
    "crystal": _tool("spec", "build", "tool", "run eval"),
    "meson": _tool("test", "setup compile install configure", "", "", "introspect"),
    "nim": _tool("", "c compile cpp js", "", "r e"),
    "elm": _tool("", "make install init"),
}
"""Build tools by name."""

ACTS = re.compile(r"-w$|-u$|-o\b|-mod=mod|-toolexec|-export|--output")
"""Options with which looking (``go env -w``, ``go list -mod=mod``) changes or runs something."""
CHECK_ONLY = ("--check", "--verify-no-changes", "--set-exit-if-changed", "--check-formatted", "--dry-run")


def tool(call: Invocation) -> Part:
    """The subcommand says what it does."""
    known = TOOLS[call.name]
    name, rest = subcommand(call.args, known.valued)
    if about := about_itself(call, "--info"):
        return about
    first = name or ""
    if first in known.look:
        return RUN if any(ACTS.match(text) for text in texts(rest)) else LOOK
    if first in known.format and given(rest, "n", CHECK_ONLY):
        return runs(Category.OTHER)
    if given(rest, "", ("--fix",)):
        return FORMAT
    # sbt takes several commands, and ``testOnly foo`` as one word.
    several = texts(call.args) if call.name == "sbt" else [first]
    words = {word.split()[0].rpartition("/")[2] for word in several if word.strip()}
    for names, part in ((known.test, TEST), (known.format, FORMAT), (known.setup, SETUP), (known.run, RUN)):
        if words & names:
            return part
    return runs(Category.OTHER)


GOALS: tuple[tuple[str, Part], ...] = (
    (r"(?:.*:)?(?:tests?|check|verify|integration-?test|\w+Check|\w+Test|surefire:.*|failsafe:.*)", TEST),
    (r"(?:.*:)?(?:spotlessApply|spotless:apply|ktlintFormat|format|fmt:format)", FORMAT),
    (r"(?:.*:)?(?:run|bootRun|exec:.*|spring-boot:run|exec)", RUN),
)


GOAL_OPTIONS = """
    -p --project-dir -f --file -pl --projects -P -b -s -t --tests -x --exclude-task -I -rf -T -c
""".split()
"""Options of Maven and Gradle that take the next word."""


def goals(call: Invocation) -> Part:
    """Maven and Gradle: the strongest of their goals; all others build."""
    if about := about_itself(call, "-v"):
        return about
    names = [name or "" for name in operands(call.args, GOAL_OPTIONS)]
    found = [part for name in names for pattern, part in GOALS if re.fullmatch(pattern, name)]
    category = strongest(Category.SETUP, *(part.category for part in found))
    return runs(category, scope=Scope.TREE if category is Category.MODIFY else Scope.NONE)


NPM_SETUP = frozenset(
    """
    install i in ci add isntall clean-install install-test it link ln update up upgrade uninstall remove rm un r rebuild
    dedupe prune audit init create set cache import pack publish version login unlink patch fetch deploy store config c
    workspaces plugin pm global
    """.split()
)
NPM_LOOKS = frozenset("ls list ll la view info show v search outdated root bin prefix why explain help".split())


def npm(call: Invocation) -> Part:
    """``npm test``, ``npm run NAME``, ``npm install``; yarn and similar programs also take a task by its bare name."""
    if about := about_itself(call, "-v"):
        return about
    valued = ("--prefix", "-w", "--workspace", "--cwd", "-C", "--dir", "--filter", "-F", "--registry")
    name, rest = subcommand(call.args, valued)
    if name in ("run", "run-script", "rum", "urn", "workspace", "run-many", "affected"):
        return _named(call, rest, valued)
    if name in ("exec", "x", "dlx"):
        return npx(call.running("npx", rest))
    if name in ("test", "t", "tst"):
        return TEST
    if name in NPM_LOOKS:
        # Whatever it is asked for, it keeps a log and a cache below the user's home.
        return runs(Category.SEARCH)
    if not name or name in NPM_SETUP:
        return SETUP
    return _bare(call, name, rest)


def _named(call: Invocation, rest: tuple[Word, ...], valued: tuple[str, ...]) -> Part:
    """``npm run NAME``."""
    name, behind = subcommand(rest, valued)
    return _bare(call, name, behind) if name else runs(Category.OTHER)


def _bare(call: Invocation, name: str, rest: tuple[Word, ...]) -> Part:
    """A task by its name, else a program of the project by its name."""
    if part := task(name):
        return part
    known = name in call.programs and re.fullmatch(r"[a-z][\w-]*", name)
    return inner(call, (literal_word(name), *rest)) if known and name != call.name else RUN


def npx(call: Invocation) -> Part:
    """It runs a program of the project, or fetches one."""
    name, rest = subcommand(call.args, ("-p", "--package", "-c", "--call", "-w", "--workspace"))
    if not name or about_itself(call):
        return runs(Category.OTHER)
    part = inner(call, (literal_word(name.partition("@")[0] or name), *rest))
    return doubted(part)


FACTS = (
    Facts(names="make gmake ninja just invoke inv doit task scons waf bmake ant lein", does=make),
    Facts(
        names=" ".join(TOOLS),
        does=tool,
        variables=Variables(r"(?:CARGO_|RUST)\w*|GO(?:FLAGS|PATH|ROOT|BIN|CACHE|MODCACHE|PROXY|TMPDIR|DEBUG|ENV|WORK)"),
    ),
    Facts(names="mvn mvnw gradle gradlew mill", does=goals),
    Facts(names="npm yarn pnpm bun cnpm nx turbo rush", does=npm, variables=Variables(r"(?:NPM_|npm_)\w*")),
    Facts(names="npx pnpx bunx", does=npx),
    Facts(
        names="""
        cmake gcc g++ cc c++ clang clang++ ld as gfortran rustc javac kotlinc scalac ghc nvcc autoconf automake
        autoreconf aclocal libtoolize pkg-config strip ranlib objcopy webpack vite rollup esbuild parcel babel gulp
        grunt next nuxt ng tsup swc maturin xcodebuild msbuild nuget buck pants emcc wasm-pack mkimage gyp node-gyp bear
        """,
        does=SETUP,
    ),
)
"""Build tools of many languages."""
