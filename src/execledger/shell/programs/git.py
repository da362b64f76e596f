"""``git`` and other version control systems: which commands only look at a repository, and what the others change."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from msgspec import Struct
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
from execledger.shell.options import literal_word, number, parse_options
from execledger.shell.programs.files import applied
from execledger.shell.programs.search import prints_matches
from execledger.shell.programs.shared import about_itself, given, inside, operands, subcommand, texts, touched
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

TREE = runs(Category.MODIFY, scope=Scope.TREE)
"""Any file of the tree may change."""
REPOSITORY = runs(Category.MODIFY, scope=Scope.REPOSITORY)
"""The index, commits or settings change, no file of the tree."""


class Git(Struct, frozen=True):
    """One git command, git's own options read."""

    call: Invocation
    """The whole command."""
    name: str
    """The subcommand."""
    args: tuple[Word, ...]
    """The words behind it."""
    folder: str | None = ""
    """The folder behind ``-C``: "" if there is none, None if it is computed."""


REPOSITORY_COMMANDS = """
    add stage commit tag branch config gc prune repack maintenance notes update-index update-ref commit-tree
    write-tree mktree mktag hash-object pack-refs reflog remote symbolic-ref replace fsck rerere pack-objects
    merge-tree fast-export bundle commit-graph multi-pack-index refs
"""
TREE_COMMANDS = """
    merge rebase revert cherry-pick pull switch am bisect sparse-checkout read-tree checkout-index filter-branch
    filter-repo worktree merge-file mergetool archive lfs fast-import unpack-file unpack-objects replay subtree
"""

RECORDS: dict[str, Part] = {
    **dict.fromkeys(REPOSITORY_COMMANDS.split(), REPOSITORY),
    **dict.fromkeys(TREE_COMMANDS.split(), TREE),
    **dict.fromkeys(("fetch", "init"), runs(Category.SETUP, scope=Scope.REPOSITORY)),
    "clone": runs(Category.SETUP),
    "submodule": runs(Category.SETUP, scope=Scope.TREE),
    "push": runs(Category.OTHER),
    "send-email": runs(Category.OTHER),
    "ls-remote": runs(Category.SEARCH, volatile=True),
    "format-patch": runs(Category.MODIFY, scope=Scope.FILES),
}  # fmt: skip
"""Subcommands that always do the same."""


def changes(git: Git) -> Part:
    """What the subcommand changes; one that is not known may be an alias for anything."""
    special = CHANGES_BY_ARGUMENTS.get(git.name)
    return special(git) if special is not None else RECORDS.get(git.name, runs(Category.OTHER))


def joined(folder: str | None, path: str | None) -> str | None:
    """``path`` beneath ``folder``; None where one of them is computed."""
    return None if folder is None or path is None else posixpath.join(folder, path) if folder else path


def listed(git: Git, paths: Iterable[str | None]) -> Part:
    """The files ``paths`` change, and nothing else if all of them are plain names: a pattern may match any file."""
    named = [None if path is None or re.search(r"[*?\[\\]|^:", path) else joined(git.folder, path) for path in paths]
    # Hooks and filters of the repository run along.
    return replace(touched(named), foreign=True)


REVISION = re.compile(r"(?:HEAD|FETCH_HEAD|ORIG_HEAD|MERGE_HEAD|@|main|master|develop|stash)(?:[~^@].*)?|[0-9a-f]{7,40}"
                      r"|[\w./-]+[~^]\d*|(?:origin|upstream)/[\w./-]+|v?\d+(?:\.\d+)+")  # fmt: skip
"""A word that is certainly a commit, not a file."""


SOURCE = re.compile(
    r"(?:.*/)?[^/]+\.(?:pyi?|pyx|pxd|[cm]?[jt]sx?|go|java|rs|[ch]|cc|[ch]pp|[ch]xx|cs|kt|scala|swift|rb|php|p[lm]|lua|sh|sql|md"
    r"|rst|txt|cfg|toml|ini|json|ya?ml|html?|s?css|less|xml|csv|tex|vue|svelte|lock|ipynb|po|in|f90|jl|ex|exs|hs|clj)"
)
"""A word that is certainly a file: branches have no such extensions."""


def _looks_like_file(path: str | None) -> bool:
    return path in (".", "./") or (path is not None and bool(SOURCE.fullmatch(path)))


def _checkout(git: Git) -> Part:
    """``git checkout -- FILE`` and ``git checkout REV -- FILE`` restore files; else a branch is checked out."""
    options, paths = _split(git.args)
    words = texts(options)
    if given(options, "bB", ("--orphan",)):
        # A new branch at the same commit changes no file.
        return REPOSITORY if len(operands(options)) == 1 and not paths and not given(options, "f") else TREE
    if any(text.startswith("--pathspec-from") for text in words):
        return TREE
    if paths is not None:
        return listed(git, (word.literal for word in paths)) if paths else TREE
    found = operands(options, ("--conflict",))
    if not found:
        return REPOSITORY
    if all(_looks_like_file(path) for path in found):
        return listed(git, found)
    if len(found) > 1 and REVISION.fullmatch(found[0] or ""):
        return listed(git, found[1:])
    return TREE


def _split(args: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...] | None]:
    """The words before and behind ``--``; None behind if it is not there."""
    for at, word in enumerate(args):
        if word.literal == "--":
            return args[:at], args[at + 1 :]
    return args, None


RESTORE = {"source": "s:", "staged": "S", "worktree": "W", "ours": "2", "theirs": "3", "merge": "m", "conflict": "c:",
           "patch": "p", "quiet": "q", "progress": "P", "overlay": "o", "no-overlay": "O",
           "ignore-unmerged": "u", "recurse-submodules": "R", "ignore-skip-worktree-bits": "I"}  # fmt: skip


def _restore(git: Git) -> Part:
    """``git restore FILE``; with ``--staged`` alone only the index."""
    options = parse_options(git.args, "s:SWmpq23", RESTORE)
    if options.unknown:
        return TREE
    if options.has("S") and not options.has("W"):
        return REPOSITORY
    return listed(git, (word.literal for word in options.operands))


def _reset(git: Git) -> Part:
    """Files of the tree change with ``--hard``, ``--merge`` or ``--keep`` alone."""
    words = texts(git.args)
    return TREE if any(len(text) > 3 and hard.startswith(text) for text in words for hard in HARD) else REPOSITORY


HARD = ("--hard", "--merge", "--keep", "--recurse-submodules")


def _remove(git: Git) -> Part:
    """``git rm FILE``; with ``--cached`` only the index."""
    if given(git.args, "", ("--pathspec-from-file",)):
        return TREE
    return REPOSITORY if "--cached" in texts(git.args) else listed(git, operands(git.args))


def _move(git: Git) -> Part:
    """``git mv A B``: both names, as ``mv`` would."""
    found = operands(git.args)
    if len(found) < 2:
        return TREE
    sources, target = found[:-1], found[-1]
    into = len(sources) > 1 or (target or "").endswith("/") or target == "."
    return listed(git, [*sources, *((inside(target, path) for path in sources) if into else [target])])


def _clean(git: Git) -> Part:
    """Untracked files go: those that it names, or any."""
    options = parse_options(git.args, "dfinqxXe:", {"force": "f", "quiet": "q", "exclude": "e:"})
    named = options.operands if not options.unknown else ()
    return listed(git, (word.literal for word in named)) if named else TREE


def _stash(git: Git) -> Part:
    """A stash takes the changes off the tree and puts them back; dropping one leaves the tree alone."""
    name, _ = subcommand(git.args)
    return REPOSITORY if name in ("drop", "clear", "create", "store") else TREE


APPLY = {"reverse": "R", "index": "i", "cached": "c", "3way": "3", "directory": "d:", "whitespace": "w:",
         "verbose": "v", "quiet": "q", "recount": "r", "unidiff-zero": "u", "ignore-space-change": "s",
         "ignore-whitespace": "s",
         "apply": "a", "allow-empty": "e", "inaccurate-eof": "E", "no-add": "n", "binary": "b", "stat": "S",
         "unsafe-paths": "U", "allow-overlap": "o"}  # fmt: skip


def _apply(git: Git) -> Part:
    """``git apply <<EOF``: the files that the patch names; a patch in a file may change any."""
    options = parse_options(git.args, "Rp:C:3vqz", APPLY)
    if options.has("c") and not options.unknown:
        return REPOSITORY
    from_input = not options.operands or [word.literal for word in options.operands] == ["-"]
    folder = joined(git.folder, options.value("d") if options.has("d") else "")
    if options.unknown or not from_input or folder is None:
        return TREE
    strip = options.value("p") or "1"
    return applied(git.call.body, number(strip), folder)


CHANGES_BY_ARGUMENTS: dict[str, Callable[[Git], Part]] = {
    "checkout": _checkout,
    "restore": _restore,
    "reset": _reset,
    "rm": _remove,
    "mv": _move,
    "clean": _clean,
    "stash": _stash,
    "apply": _apply,
}
"""Subcommands whose effects depend on their words."""


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
    special = LOOKS_BY_ARGUMENTS.get(git.name)
    looks = git.name in LOOKING or (special is not None and special(git))
    return _look(git) if looks else changes(git)


def _global_options(options: tuple[Word, ...]) -> tuple[str | None, bool]:
    """The folder behind ``-C`` ("" if there is none, None if it is computed), and whether nothing else is odd."""
    folder: str | None = ""
    plain = True
    rest = list(options)
    while rest:
        text = rest.pop(0).literal or ""
        value = (rest.pop(0) if rest else literal_word("")) if text in GLOBAL else None
        if text == "-C" and value is not None:
            folder = joined(folder, value.literal)
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
"""Subcommands that look only if an option says so: ``LOOKS_BY_ARGUMENTS`` has found it."""
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
    part = listed(git, [name or None])
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


LOOKS_BY_ARGUMENTS: dict[str, Callable[[Git], bool]] = {
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
