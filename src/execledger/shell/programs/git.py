"""``git``: looking at a repository. What changes one is in ``git_changes``."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from execledger.shell.facts import (
    COMPUTED,
    Facts,
    Invocation,
    Part,
    Variables,
    doubted,
    literal,
    named_files,
    runs,
    searches,
)
from execledger.shell.options import literal_word
from execledger.shell.programs import git_changes
from execledger.shell.programs.git_changes import RECORDS, Git
from execledger.shell.programs.idioms import about_itself, given, operands, subcommand, texts
from execledger.shell.programs.search import prints_matches
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category

LOOKING = frozenset(
    """
    status log show diff blame annotate grep ls-files ls-tree rev-parse rev-list describe shortlog cat-file
    name-rev merge-base whatchanged for-each-ref check-ignore check-attr check-ref-format count-objects cherry
    range-diff show-ref show-branch diff-tree diff-index diff-files var version help get-tar-commit-id patch-id
    verify-commit verify-tag fmt-merge-msg column stripspace check-mailmap last-modified
    """.split()
)
"""Subcommands that only look, but for options that name a file to write or a program to run."""

ALONE = frozenset(
    """
    rev-parse rev-list ls-tree cat-file for-each-ref show-ref symbolic-ref merge-base name-rev branch tag config remote
    worktree check-ignore check-attr check-ref-format count-objects var version stripspace column
    """.split()
)
"""Those that run no program, whatever the settings say. Others may: ``diff.external``, ``textconv``, filters that clean
a file before it is compared, ``core.fsmonitor``, ``gpg.program`` for ``log.showSignature``."""

GLOBAL = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source", "--super-prefix")
"""Options before the subcommand that take the next word."""

SAFE_CONFIG = re.compile(
    r"(?i)(?:color|user|author|advice|safe|log(?=\.(?!date))|column|init|status|i18n)\.[^=]*(?:=.*)?"
    r"|core\.(?:quotepath|autocrlf|eol|safecrlf|abbrev|filemode|ignorecase|whitespace|precomposeunicode|preloadindex|"
    r"untrackedcache|symlinks|longpaths|checkstat|trustctime)(?:=.*)?"
    r"|(?:core\.pager|pager\.\w+)=(?:cat|less|more|false|true)?"
    r"|diff\.(?!external)\w+(?:=.*)?|(?:commit|tag)\.gpgsign=false|grep\.\w+=.*|merge\.(?:conflictstyle|renames)=.*"
)
"""Settings given with ``-c`` that can't make git run another program."""


def git(call: Invocation) -> Part:
    """Read git's own options, then the subcommand."""
    if about := about_itself(call, "-v"):
        return about
    name, rest = subcommand(call.args, GLOBAL)
    options = call.args[: len(call.args) - len(rest) - 1]
    folder, plain = _global_options(options)
    if not name:
        return runs(Category.OTHER)
    part = _subcommand(Git(call, name, rest, folder))
    return part if plain else doubted(part)


def _subcommand(git: Git) -> Part:
    """What the subcommand does: it looks, or it changes something."""
    special = SPECIAL.get(git.name)
    looks = git.name in LOOKING or (special is not None and special(git))
    return _look(git) if looks else git_changes.changes(git)


def _global_options(options: tuple[Word, ...]) -> tuple[str | None, bool]:
    """The folder behind ``-C`` ("" if there is none, None if it is computed), and whether nothing else is odd."""
    folder: str | None = ""
    plain = True
    rest = list(options)
    while rest:
        text = rest.pop(0).literal or ""
        value = (rest.pop(0) if rest else literal_word("")) if text in GLOBAL else None
        if text == "-C" and value is not None:
            folder = git_changes.joined(folder, value.literal)
        elif text == "-c":
            plain = plain and value is not None and bool(SAFE_CONFIG.fullmatch(value.literal or "?"))
        elif text.startswith(("--exec-path", "--config-env")):
            plain = False
    return folder, plain


TIMED = re.compile(
    r"%[ac][rh]|[:=](?:relative|human)|^--(?:relative-date|since|after|until|before)|@\{(?:(?!@\{).)*[a-z]{3}"
)
"""Words that make git ask the clock: times such as "two hours ago", printed or compared."""

RUNS = re.compile(r"--(?:ext(?:-|$)|textc|filters|show-sig|exec|upload-pack|receive-pack|contents)")
"""Options, perhaps shortened, by which git runs what the repository's settings name, or what they are given."""

LOOKS = frozenset(
    """
    abbrev abbrev-commit abbrev-ref absolute-git-dir after all all-match ancestry-path anchored and author
    author-date-order basic-regexp batch batch-all-objects batch-check before bisect blob bool boundary branch
    branches break break-rewrites cached check cherry cherry-mark cherry-pick children clear-decorations color
    color-moved color-moved-ws color-words column combined-all-paths committer compact-summary contains context
    count count-matches cumulative date date-order debug decorate decorate-refs decorate-refs-exclude deduplicate
    default default-prefix deleted dense describe diff-algorithm diff-filter diff-merges dirstat dirty dst-prefix
    empty encode-email-headers encoding eol error-unmatch exact-match exclude exclude-existing exclude-from
    exclude-per-directory exclude-standard expand-tabs extended-regexp file files files-with-matches
    files-without-match find-copies find-copies-harder find-object find-renames first-parent fixed-strings follow
    for-each-ref fork-point format full-diff full-history full-index full-name full-tree function-context get
    get-all get-regexp get-urlmatch git-common-dir git-dir git-path glob global graph grep grep-reflog group heading
    histogram ignore-all-space ignore-blank-lines ignore-case ignore-cr-at-eol ignore-matching-lines ignore-rev
    ignore-revs-file ignore-space-at-eol ignore-space-change ignore-submodules ignored includes incremental
    indent-heuristic independent intent-to-add inter-hunk-context invert-grep invert-match is-ancestor
    is-bare-repository is-inside-git-dir is-inside-work-tree is-shallow-repository ita-invisible-in-index
    ita-visible-in-index killed left-only left-right line-number line-porcelain line-prefix list list-cmds local
    local-env-vars locked long mailmap max-age max-count max-depth max-parents merge merge-base merged merges
    min-age min-parents minimal modified name name-only name-prefix name-rev name-status no-abbrev no-abbrev-commit
    no-ahead-behind no-color no-color-moved no-column no-contains no-decorate no-diff-merges no-ext-diff
    no-find-copies no-flags no-includes no-indent-heuristic no-index no-mailmap no-max-parents no-merged no-merges
    no-min-parents no-notes no-optional-locks no-pager no-patch no-prefix no-rename-empty no-renames no-revs
    no-standard-notes no-textconv no-undefined no-walk normal not notes null null-data numbered numstat object-id
    object-only objects oneline only-matching or ordinal others output-indicator-context output-indicator-new
    output-indicator-old parents partial patch patch-with-raw patch-with-stat path-format patience perl-regexp
    pickaxe-all pickaxe-regex points-at porcelain pretty quiet raw recurse-submodules reflog regexp-ignore-case
    relative relative-date relative-path remerge-diff remotes remove-empty rename-empty resolve-git-dir resolve-undo
    reverse revs-only right-only root score-debug sections shared-index-path short shortstat show-cdup show-current
    show-email show-name show-notes show-number show-object-format show-origin show-prefix show-pulls show-scope
    show-stash show-superproject-working-tree show-toplevel simplify-by-decoration simplify-merges since
    since-as-filter size skip sort source sparse sq sq-quote src-prefix stage staged standard-notes stat stat-count
    stat-graph-width stat-name-width stat-width stdin stdout submodule summary symbolic symbolic-full-name symlinks
    system tags text threads topo-order total tracked type unified unmatched unmerged unpacked until untracked
    untracked-files use-mailmap verbose verify version walk-reflogs word-diff word-diff-regex word-regexp
    ws-error-highlight zero-count
    """.split()
)
"""Long options with which git only looks. Any other one may name a program or a file to write."""


DRY = frozenset("add rm mv clean apply format-patch archive hash-object".split())
"""Subcommands that look only if an option says so: ``SPECIAL`` has found it."""
LOOKS_DRY = frozenset(
    """
    all cached check cover-letter dry-run exclude force format ignore-errors ignore-missing ignore-unmatch include index
    intent-to-add keep-subject list no-filters numbered numstat path prefix quiet recursive reverse root signoff stat
    start-number stdin stdout subject-prefix summary update verbose worktree-attributes
    """.split()
)
"""Long options that leave these to their look: none of them takes back the option that says so."""


def _may_act(git: Git, name: str) -> bool:
    return name.startswith("--") and name[2:] not in (LOOKS_DRY if git.name in DRY else LOOKS)


PATCHLESS = ("--stat", "--name-only", "--name-status", "--numstat", "--shortstat", "--summary", "--dirstat", "--check",
             "--quiet", "--raw", "--compact-summary", "-s", "--no-patch", "--word-diff", "--color-words")  # fmt: skip


def _look(git: Git) -> Part:
    """A look; ``--output`` writes its result, and ``git grep -O`` opens a program."""
    names = [text.partition("=")[0] for text in texts(git.args)]
    ends = names.index("--") if "--" in names else len(names)
    if any(len(name) > 4 and "--output".startswith(name) for name in names[:ends]):
        return _written(git)
    if git.name == "grep" and any(re.match(r"-O|--open", name) for name in names[:ends]):
        return runs(Category.SEARCH)
    if git.name == "help" or any(re.match(RUNS, name) for name in names[:ends]):
        return runs(Category.SEARCH)
    prints_patch = git.name in ("diff", "format-patch") and not set(names[:ends]) & set(PATCHLESS)
    if git.name == "ls-remote":
        return Part(category=Category.SEARCH, volatile=True)
    if any(_may_act(git, name) for name in names[:ends]):
        return runs(Category.SEARCH)
    timed = any(map(TIMED.search, texts(git.args)))
    return searches(makes_patch=prints_patch, volatile=timed, foreign=git.name not in ALONE)


def _written(git: Git) -> Part:
    """``git diff --output=FILE``: a patch into a file is made to be submitted."""
    words = texts(git.args)
    at = next(at for at, text in enumerate(words) if text.startswith("--out"))
    name = words[at].partition("=")[2] or (words[at + 1] if at + 1 < len(words) else "")
    part = git_changes.listed(git, [name or None])
    return replace(part, category=Category.SUBMIT) if git.name in ("diff", "format-patch") else part


ASKS = r"-l$|--(?:list|contains|no-contains|merged|no-merged|points-at)"
BRANCH_CHANGES = r"--(?:delete|move|copy|set-up|unset|edit|force|track|create)"
TAG_CHANGES = r"-[asfdmFue]|--(?:annotate|sign|force|delete|message|file|edit|cleanup|local-user)"


def _lists_branches(git: Git) -> bool:
    words = texts(git.args)
    changing = given(git.args, "dDmMcCufte") or any(re.match(BRANCH_CHANGES, word) for word in words)
    asks = any(re.match(ASKS, word) for word in words)
    return not changing and (asks or not operands(git.args, ("--sort", "--format")))


def _lists_tags(git: Git) -> bool:
    words = texts(git.args)
    changing = any(re.match(TAG_CHANGES, word) for word in words)
    asks = any(re.match(rf"-[ln]|{ASKS}", word) for word in words)
    return not changing and (asks or not operands(git.args, ("--sort", "--format")))


GETS = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "-l", "--list")
SETS = ("--add", "--unset", "--unset-all", "--replace-all", "--rename-section", "--remove-section", "-e", "--edit")


def _gets_config(git: Git) -> bool:
    words = texts(git.args)
    found = operands(git.args, ("-f", "--file", "--blob", "--type", "--default"))
    first = found[0] if found else ""
    if any(text in SETS for text in words) or first in ("set", "unset", "edit", "rename-section", "remove-section"):
        return False
    return any(text in GETS for text in words) or first in ("get", "list") or (len(found) == 1 and first is not None)


def _first(*names: str, bare: bool = False) -> Callable[[Git], bool]:
    """A subcommand of a subcommand that only looks, such as ``git stash list``; ``bare``: so does none at all."""

    def looks(git: Git) -> bool:
        name, _ = subcommand(git.args)
        return name in names or (bare and name == "")

    return looks


def _dry(git: Git) -> bool:
    """``-n`` or ``--dry-run``, also in a cluster of flags that take no value."""
    words = texts(git.args)
    before = words[: words.index("--")] if "--" in words else words
    return any(re.fullmatch(r"--dry-run|-[dfqxXAuvki]*n[dfqxXAuvki]*", text) for text in before)


def _inspects_patch(git: Git) -> bool:
    """``git apply --check`` and ``--stat`` change nothing."""
    words = texts(git.args)
    return any(text in ("--check", "--stat", "--numstat", "--summary") for text in words) and "--apply" not in words


LS_REMOTE = re.compile(r"--(?:heads|tags|refs|quiet|symref|get-url)|-[htq]|[\w.*/][\w.*/-]*|https://[\w.:/-]+")
"""Words with which ``git ls-remote`` asks a remote that has a name, or one behind a plain address."""


SPECIAL: dict[str, Callable[[Git], bool]] = {
    "branch": _lists_branches,
    "tag": _lists_tags,
    "config": _gets_config,
    "remote": lambda git: _first("show", "get-url", bare=True)(git) and not given(git.args, "", ("--add",)),
    "stash": _first("list", "show"),
    "reflog": lambda git: not _first("expire", "delete", "drop", "write")(git),
    "notes": _first("list", "show", bare=True),
    "worktree": _first("list"),
    "bisect": _first("log"),
    "submodule": _first("status", "summary", bare=True),
    "symbolic-ref": lambda git: len(operands(git.args)) == 1 and not given(git.args, "dm", ("--delete",)),
    "apply": _inspects_patch,
    "clean": _dry,
    "rm": _dry,
    "add": _dry,
    "mv": _dry,
    "format-patch": lambda git: "--stdout" in texts(git.args),
    "archive": lambda git: not given(git.args, "o", ("--output", "--remote", "--exec")),
    "hash-object": lambda git: not given(git.args, "w"),
    "lfs": _first("ls-files", "status", "env", "version"),
    "bundle": _first("verify", "list-heads"),
    "ls-remote": lambda git: all(map(LS_REMOTE.fullmatch, texts(git.args))),
}
"""Subcommands that look or change by their arguments: whether they only look."""


HG_LOOKS = frozenset(
    """
    status st log diff cat annotate blame grep files manifest locate summary sum id identify heads tip parents paths
    branches tags bookmarks root version help info ls list praise ann propget
    """.split()
)


def other_systems(call: Invocation) -> Part:
    """Other version control: the usual words for looking; anything else may change the tree."""
    name, rest = subcommand(call.args, ("-R", "--cwd", "--config", "--repository"))
    if about := about_itself(call):
        return about
    odd = given(call.args, "o", ("--config", "--output", "--tool", "--diff-cmd", "--rev-command"))
    bookmark = name in ("bookmarks", "branches", "tags") and bool(operands(rest))
    look = searches(foreign=True)
    return look if name in HG_LOOKS and call.name in ("hg", "svn") and not (odd or bookmark) else RECORDS["merge"]


HARMLESS = frozenset(("rev-parse", "branch"))
"""Subcommands that run nothing that the settings of the repository name."""
HARMLESS_WORD = re.compile(r"--(?:short|show-toplevel|abbrev-ref|no-color)|-a|--|[^-].*")
"""The words that they may be given then."""


def _harmless(args: tuple[Word, ...]) -> bool:
    """A literal ``git rev-parse``, or a ``git branch`` that lists."""
    if not literal(args):
        return False
    words = texts(args)
    rest = words[1:] if words[:1] == ["--no-pager"] else words
    named = sum(not word.startswith("-") for word in rest[1:])
    only_lists = rest[:1] != ["branch"] or not named
    return bool(rest) and rest[0] in HARMLESS and only_lists and all(map(HARMLESS_WORD.fullmatch, rest[1:]))


OF_COMMIT = re.compile(r"[\w./~^@{}-]+:(?P<path>[^:\s]+)")
"""A file of a commit, as ``git show`` takes it."""


def _contents(call: Invocation) -> tuple[str, ...] | None:
    """The files of a commit that ``git show`` prints, and the files in which ``git grep`` finds lines."""
    name, args = subcommand(call.args, ("-C", "-c"))
    if name in ("show", "cat-file"):
        return tuple(found["path"] for text in texts(args) if (found := OF_COMMIT.fullmatch(text)))
    return named_files(call) if name == "grep" and prints_matches(args) else ()


FACTS = (
    Facts(
        names="git",
        does=git,
        allowed=COMPUTED,
        harmless=_harmless,
        contents=_contents,
        variables=Variables(r"GIT_\w*", ("GIT_PAGER",), ("GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT")),
    ),
    Facts(names="hg svn", does=other_systems, allowed=COMPUTED),
    Facts(names="bzr fossil jj sl", does=other_systems),
)
"""Version control systems."""
