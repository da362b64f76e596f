"""Programs that print the state of machine, clock, processes and network, and large tools that may do anything."""

from __future__ import annotations

import re
from itertools import pairwise

from execledger.shell.facts import ANY, COMPUTED, Facts, Invocation, Part, Variables, always, runs, writes
from execledger.shell.options import parse_options
from execledger.shell.programs.shared import about_itself, given, subcommand, texts
from execledger.vocabulary.records import Category, Scope

VOLATILE = Part(category=Category.OTHER, volatile=True)
"""It changes nothing, and what it prints depends on more than files."""


# It makes a folder for its settings below the user's home.


def date(call: Invocation) -> Part:
    """The time, unless it sets the clock."""
    sets = given(call.args, "s", ("--set",)) or any(text[:1].isdigit() for text in texts(call.args))
    return runs() if sets else VOLATILE


def ss(call: Invocation) -> Part:
    """Open sockets; ``-K`` closes some, and ``-D`` writes a file."""
    return runs() if given(call.args, "KD", ("--kill", "--diag")) else VOLATILE


def bare(call: Invocation) -> Part:
    """It shows something when it is given nothing, and may change it otherwise."""
    return runs() if call.args and not about_itself(call) else VOLATILE


def curl(call: Invocation) -> Part:
    """A transfer; the file behind ``-o`` is certain."""
    return about_itself(call) or _transfer(call, r"-[fsSLkgiNv#]*o", "--output")


def wget(call: Invocation) -> Part:
    """A download; the file behind ``-O`` is certain."""
    return about_itself(call) or _transfer(call, r"-[qvdnc]*O", "--output-document")


def _transfer(call: Invocation, short: str, long: str) -> Part:
    """A transfer may do anything on the other side, and writes the file that its option names."""
    words = texts(call.args)
    files = [after for word, after in pairwise(words) if word == long or re.fullmatch(short, word)]
    files += [word.partition("=")[2] for word in words if word.startswith(long + "=")]
    named = tuple(file for file in dict.fromkeys(files) if file and file != "-" and not file.startswith("/dev/"))
    return runs(writes=named, scope=Scope.FILES if named else Scope.NONE)


def ctags(call: Invocation) -> Part:
    """It writes an index, by default into ``tags`` or ``TAGS``."""
    options = parse_options(call.args, "aBeF:f:h:I:L:nNo:RuVwx")
    target = options.value("f", "o") if options.has("f", "o") else "TAGS" if call.name == "etags" else "tags"
    if options.unknown or target is None or options.has("e"):
        return runs()
    prints = target == "-" or options.has("x")
    return Part(category=Category.OTHER) if prints else writes(target, category=Category.OTHER)


LOOKING = frozenset(("ps", "images", "logs", "inspect", "version", "info", "port", "top", "stats", "history", "search"))


def docker(call: Invocation) -> Part:
    """Containers are set up, looked at, or run commands that are not followed."""
    name, rest = subcommand(call.args, ("-H", "--host", "-c", "--context", "--config", "-l", "--log-level"))
    if name in LOOKING or about_itself(call):
        return VOLATILE
    if name in ("exec", "cp"):
        return runs()
    detached = name in ("start", "restart", "compose", "run") and given(rest, "d", ("--detach",))
    return runs(Category.SETUP, background=detached or name in ("start", "restart"))


def service(call: Invocation) -> Part:
    """Services are looked at with ``status``, and otherwise started or stopped."""
    words = texts(call.args)
    looking = {"status", "list-units", "list-unit-files", "is-active", "is-enabled", "show", "--status-all"}
    return VOLATILE if looking & set(words) else runs(Category.SETUP, background=True)


FACTS = (
    Facts(names="whoami id uname nproc tty", does=VOLATILE, harmless=always),
    Facts(
        names="""
        uptime ps pstree pgrep pidof free df printenv who w last groups logname lsof dirs times lscpu lsblk lspci lsusb
        vmstat iostat mpstat netstat ping dig nslookup host hostid locale getconf getent findmnt lsb_release tput
        uuidgen
        """,
        does=VOLATILE,
    ),
    Facts(names="help apropos whatis cal ncal", does=Part(category=Category.OTHER)),
    Facts(names="seq", does=Part(comparable=True), harmless=always),
    Facts(names="yes expr factor numfmt clear bc", does=Part(comparable=True)),
    Facts(names="sleep", does=Part(volatile=True), harmless=always, silent=ANY),
    Facts(names="usleep stty envsubst", does=Part(volatile=True)),
    Facts(names="date", does=date, allowed=COMPUTED),
    Facts(names="ss", does=ss, allowed=COMPUTED),
    Facts(
        names="arch htop hostname history jobs mount dmesg env ip ifconfig route timedatectl sysctl",
        does=bare,
    ),
    Facts(names="curl", does=curl),
    Facts(names="wget", does=wget),
    Facts(names="ctags etags exuberant-ctags universal-ctags", does=ctags),
    Facts(names="docker podman nerdctl", does=docker),
    Facts(names="systemctl service initctl launchctl rc-service supervisorctl", does=service),
    Facts(
        names="""
        nginx redis-server mongod pg_ctl pg_ctlcluster postgres mysqld mysqld_safe mariadbd memcached sshd cron crond
        supervisord dockerd Xvfb dbus-daemon httpd apache2 apachectl apache2ctl rabbitmq-server celery start-stop-daemon
        tmux screen at batch crontab daemon daemonize disown bg coproc pm2 inotifywait watchman watchexec entr
        """,
        does=runs(background=True),
    ),
    Facts(names="man", does=runs(), variables=Variables(r"MAN\w*", ("MANPAGER",))),
    # It makes a folder for its settings below the user's home.
    Facts(names="top", does=runs()),
    Facts(
        names="""
        info tldr
        kill pkill fuser mktemp journalctl nvidia-smi mongo killall skill fg ssh scp sftp nc ncat netcat telnet socat
        ftp openssl gpg ssh-keygen ssh-add ssh-agent sqlite3 psql mysql mariadb mysqladmin redis-cli mongosh createdb
        dropdb pg_dump ffmpeg convert magick gh hub glab aws gcloud az kubectl helm terraform ansible ansible-playbook
        http https aria2c gdb lldb strace ltrace perf valgrind ldd script expect watch parallel dc logger flask uvicorn
        gunicorn hypercorn daphne streamlit jupyter jupyter-nbconvert scrapy sphinx-build sphinx-apidoc
        sphinx-quickstart sphinx-autogen mkdocs doxygen pdoc pydoc pydoc3 latex pdflatex cscope gtags global antlr4
        protoc alembic twine cookiecutter copier pre-commit su chroot unshare nsenter flock run-parts xdg-open open code
        dmypy hyperfine pyinstaller cython cythonize f2py swig kaggle huggingface-cli wrk ab siege mkfifo mknod sync
        swapoff umount useradd usermod groupadd passwd locale-gen ldconfig update-alternatives sqlfluff fc-list fc-cache
        """,
        does=runs(),
    ),
)
"""Programs about the machine, and large tools that may do anything."""
