"""Package managers and environments: ``pip``, ``conda``, ``apt``, ``poetry``, and the commands that they run."""

from __future__ import annotations

from msgspec import Struct

from execledger.shell.facts import Facts, Invocation, Part, Variables, doubted, runs, searches
from execledger.shell.options import literal_word
from execledger.shell.programs.shared import SUFFIXED, about_itself, given, inner, subcommand, texts
from execledger.shell.programs.toolchains import SETUP, task
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category

LISTS = Part(category=Category.SEARCH, foreign=True)
"""It looks at what is installed; what it prints is not compared, for it may ask the network."""

PIP = ("--python", "--log", "--proxy", "--timeout", "--retries", "--cache-dir", "--exists-action", "--trusted-host",
       "--cert", "--client-cert", "--use-feature", "--use-deprecated", "--keyring-provider")  # fmt: skip


def pip(call: Invocation) -> Part:
    """``pip list``, ``show`` and ``freeze`` look at installed files; ``install`` sets up."""
    name, rest = subcommand(call.args, PIP)
    if about := about_itself(call):
        return about
    if given(call.args, "", ("--log", "--log-file", "--local-log", "--cache-dir")):
        return SETUP
    asks_network = given(call.args, "o", ("--outdated", "--uptodate"))
    if name in ("list", "show", "freeze", "inspect") and not asks_network:
        return searches(foreign=True)
    action, _ = subcommand(rest)
    if name in ("list", "check", "help", "index", "search", "hash", "debug", "completion"):
        return LISTS
    return LISTS if (name, action) in PIP_LOOKS else SETUP


PIP_LOOKS = {("config", "list"), ("config", "get"), ("config", "debug"), ("cache", "dir"), ("cache", "list")}


class Manager(Struct, frozen=True):
    """How one package manager is read."""

    looks: frozenset[str] = frozenset()
    """Subcommands, alone or with their first word, that only look."""
    run: frozenset[str] = frozenset()
    """Subcommands that run another program in its environment."""
    valued: tuple[str, ...] = ()
    """Options that take the next word."""
    tasks: bool = False
    """What it runs may be the name of one of the project's tasks."""


def _manager(looks: str = "", run: str = "", valued: str = "", tasks: bool = False) -> Manager:
    return Manager(frozenset(filter(None, looks.split(","))), frozenset(run.split()), tuple(valued.split()), tasks)


CONDA = _manager("list,info,search,env list,config --show", "run",
                 "-n --name -p --prefix --cwd -r --root-prefix -c --channel -f --file")  # fmt: skip
UV = _manager("pip list,pip show,pip freeze,pip tree,python list,python find,tool list,cache dir", "run",
              "-p --python --with --with-editable --with-requirements --extra --group --only-group --no-group --project"
              " --directory --env-file --package --index --index-url --extra-index-url --default-index -f --find-links"
              " --config-file --cache-dir --color --refresh-package --no-extra")  # fmt: skip
RUN_IN = "-C --directory -P --project -p --python -e --env --venv -m --manifest-path --feature --extra --environment"

MANAGERS: dict[str, Manager] = {
    **dict.fromkeys(("conda", "mamba", "micromamba"), CONDA),
    "uv": UV,
    "poetry": _manager("show,env info,env list,check,about,config --list,search", "run", "-C --directory -P --project"),
    "pipenv": _manager("graph,--venv,--where,--py,scripts", "run", "--python"),
    "pdm": _manager("list,info,show,search", "run", "-p --project -e --env", tasks=True),
    "rye": _manager("list,show", "run", "--pyproject", tasks=True),
    "hatch": _manager("status,env show,env find", "run", "-e --env -p --project", tasks=True),
    "pixi": _manager("info,search,task list", "run", RUN_IN, tasks=True),
    "pipx": _manager("list,environment", "run"),
    "uvx": _manager("", "", "--from --with -p --python"),
    "apt": _manager("list,show,search,policy,depends,rdepends", "", "-o -t -c"),
    "apt-cache": _manager("show,search,policy,depends,rdepends,pkgnames,madison,showpkg,stats"),
    "dpkg-query": _manager("-l,-L,-s,-S,-W,--list,--show,--status,--search,--listfiles"),
    "dpkg": _manager("-l,-L,-s,-S,--list,--status,--search,--listfiles,--get-selections,--print-architecture"),
    "rpm": _manager("-q,-qa,-ql,-qi,-qf,--query"),
    "brew": _manager("list,info,deps,config,--prefix,--cellar"),
    "gem": _manager("list,search,which,environment,env,specification,contents,info"),
    "bundle": _manager("list,show,info,check,outdated", "exec"),
    "bundler": _manager("list,show,info,check,outdated", "exec"),
    "composer": _manager("show,info,outdated,licenses,depends,why", "exec run-script run"),
    "pyenv": _manager("versions,version,which,root,prefix,commands,whence,install --list,install -l", "exec"),
    "asdf": _manager("current,list,where,which,info", "exec"),
    "nvm": _manager("ls,list,current,which,version", "exec"),
    "rustup": _manager("toolchain list,target list,which,component list", "run"),
}  # fmt: skip
"""Package managers by name."""


def manager(call: Invocation) -> Part:
    """It looks, sets up, or runs a program in its environment."""
    tool = MANAGERS[call.name]
    if about := about_itself(call):
        return about
    name, rest = subcommand(call.args, tool.valued)
    first, second = ([*texts(call.args[:1]), ""])[0], ([*texts(rest[:1]), ""])[0]
    if call.name == "uvx":
        return doubted(inner(call, (literal_word(name or ""), *rest)))
    if name in tool.run:
        return doubted(_run(call, tool, rest)) if call.name in SYNCS else _run(call, tool, rest)
    if (call.name, name, second) == ("uv", "tool", "run"):
        return doubted(_run(call, tool, rest[1:]))
    if name == "test" and call.name in ("hatch", "rye"):
        return runs(Category.TEST)
    if name in ("fmt", "format") and call.name in ("hatch", "rye", "uv"):
        return runs(Category.MODIFY)
    return LISTS if {first, name, f"{name} {second}"} & tool.looks else SETUP


SYNCS = ("uv", "pipx", "pipenv", "pdm", "rye", "hatch", "pixi", "rustup")
"""Managers that may set up the environment before they run a program in it."""


def _run(call: Invocation, tool: Manager, rest: tuple[Word, ...]) -> Part:
    """The program behind ``poetry run``, ``uv run``, ``conda run -n NAME``."""
    words = list(rest)
    while words and (words[0].literal or "").startswith("-"):
        text = words.pop(0).literal
        if text in ("-m", "--module") and call.name in ("uv", "pdm"):
            return inner(call, (literal_word("python"), literal_word("-m"), *words))
        if text in tool.valued and words:
            words.pop(0)
    if call.name == "rustup":
        words = words[1:]  # the toolchain's name
    first = words[0].literal if words else None
    if first is None:
        return runs()
    if tool.tasks and "/" not in first and (part := task(first)) is not None:
        return part
    if first == "test":
        return runs(Category.TEST)
    if SUFFIXED.fullmatch(first) and first.endswith(".py"):
        return inner(call, (literal_word("python"), *words))
    return inner(call, tuple(words))


INSTALLERS = """
    apt-get aptitude dnf yum apk pacman zypper port snap flatpak nix nix-env nix-shell guix easy_install
    virtualenv venv ensurepip pyvenv add-apt-repository apt-key debconf-set-selections dpkg-reconfigure
    update-ca-certificates conda-build conda-env conda-lock pip-compile pip-sync pip-tools flit nodenv rbenv rvm
    sdk volta fnm n corepack cpan cpanm luarocks opam vcpkg conan pecl phpenv bower lerna nvidia-ctk workon
    mkvirtualenv direnv module build setuptools tzdata git-lfs
"""


def installer(call: Invocation) -> Part:
    """It sets up the environment."""
    return about_itself(call) or SETUP


FACTS = (
    Facts(
        names=" ".join(("pip", "pip2", "pip3", *(f"pip3.{minor}" for minor in range(5, 16)))),
        does=pip,
        variables=Variables(r"PIP_\w*"),
    ),
    Facts(names=" ".join(MANAGERS), does=manager, variables=Variables(r"UV_\w*")),
    Facts(names=INSTALLERS, does=installer),
    Facts(names="setup.py configure autogen.sh bootstrap.sh", does=SETUP),
)
"""Package managers and environments."""
