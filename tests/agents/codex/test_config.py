"""Where Codex would send its requests, read from its configuration as Codex reads it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from execledger.agents.codex.config import KEY_ADDRESS, LOGIN_ADDRESS, OWN, Route, overridden, route, subcommand
from execledger.errors import LedgerError

A, B, OURS = "https://a.example/v1", "https://b.example/v1", "http://127.0.0.1:1/v1"
PROVIDERS = f'[model_providers.a]\nbase_url = "{A}"\n[model_providers.b]\nbase_url = "{B}"\n'
NEW = (0, 166, 0)


class Home:
    """A user's folder of settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, text: str, name: str = "config.toml") -> None:
        (self.folder / name).write_text(text)

    def route(
        self,
        *arguments: str,
        upstream: str = "",
        version: tuple[int, ...] = NEW,
        variables: Mapping[str, str] | None = None,
    ) -> Route:
        environment = {"CODEX_HOME": str(self.folder), **(variables or {})}
        return route(list(arguments), environment, lambda: version, upstream)

    def refusal(self, *arguments: str, upstream: str = "") -> str:
        with pytest.raises(LedgerError) as caught:
            self.route(*arguments, upstream=upstream)
        return str(caught.value).replace(str(self.folder), "HOME")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


# A provider of the user's


def test_the_users_provider_keeps_all_but_its_address(home: Home) -> None:
    """Only one key of it is changed, and requests go on to where it stood."""
    home.write(f'model_provider = "a"\n{PROVIDERS}')
    chosen = home.route("exec", "Go.")
    assert chosen == Route(A, "a")
    assert (chosen.settings(OURS), chosen.variables(OURS)) == ({"model_providers.a.base_url": OURS}, {})


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "model_provider=b"],
        ["-cmodel_provider=b"],
        ["-c=model_provider=b"],
        ["--config", "model_provider=b"],
        ["--config=model_provider=b"],
        ["-c", ' model_provider = "b" '],
        ["-c", "model_provider='b'"],
        ["exec", "-c", "model_provider=b", "Go."],
        ["-c", "model_provider=a", "exec", "-c", "model_provider=b"],
        ["-c", f'model_providers={{a={{base_url="{B}"}}}}'],
        ["-c", f'model_providers.a={{base_url="{B}"}}'],
        ["-c", f"model_providers.a.base_url={B}"],
        ["-c", f"model_providers.a.base_url={A}", "exec", f"-cmodel_providers.a.base_url={B}"],
    ],
    ids=" ".join,
)
def test_settings_on_the_command_line_count(home: Home, words: list[str]) -> None:
    """In every spelling that Codex takes; the last of several wins, and a value that is no TOML is a text."""
    home.write(f'model_provider = "a"\n{PROVIDERS}')
    assert home.route(*words).upstream == B


def test_what_stands_behind_two_dashes_is_no_setting(home: Home) -> None:
    """There begins the prompt."""
    home.write(f'model_provider = "a"\n{PROVIDERS}')
    assert home.route("exec", "--", "-c", "model_provider=b").upstream == A


def test_a_key_is_cut_at_every_dot(home: Home) -> None:
    """Quotes on the command line mean nothing to Codex; in a file they do, and then a whole table is given."""
    home.write(f'model_provider = "a.b"\n[model_providers."a.b"]\nbase_url = "{A}"\n')
    chosen = home.route("-c", f'model_providers."a.b".base_url={B}')
    assert (chosen, chosen.settings(OURS)) == (Route(A, "a.b"), {"model_providers": {"a.b": {"base_url": OURS}}})
    assert overridden([], chosen.settings(OURS)) == ["-c", f'model_providers={{"a.b" = {{"base_url" = "{OURS}"}}}}']


@pytest.mark.parametrize("words", [["-p", "mine"], ["-pmine"], ["--profile=mine"], ["exec", "--profile", "mine"]])
@pytest.mark.parametrize("kind", ["table", "file"])
def test_a_profile_counts_in_both_of_its_forms(home: Home, kind: str, words: list[str]) -> None:
    """As a table of the settings, and as a file beside them."""
    table = '[profiles.mine]\nmodel_provider = "b"\n' if kind == "table" else ""
    home.write(f'model_provider = "a"\n{PROVIDERS}{table}')
    if kind == "file":
        home.write('model_provider = "b"\n', "mine.config.toml")
    assert (home.route(*words).upstream, home.route("-p", "other").upstream) == (B, A)


def test_a_profile_of_a_file_gives_way_to_the_command_line_and_a_table_does_not(home: Home) -> None:
    """The older form stands above everything."""
    home.write('model_provider = "b"\n', "mine.config.toml")
    home.write(f'model_provider = "a"\n{PROVIDERS}')
    words = ("-p", "mine", "-c", "model_provider=a")
    assert home.route(*words).upstream == A
    home.write(f'model_provider = "a"\n{PROVIDERS}[profiles.mine]\nmodel_provider = "b"\n')
    assert home.route(*words).upstream == B


def test_a_profile_can_be_chosen_by_a_setting(home: Home) -> None:
    """In the file or on the command line, as long as there were tables."""
    profiles = f'{PROVIDERS}[profiles.mine]\nmodel_provider = "b"\n'
    home.write(profiles)
    assert home.route("-c", "profile=mine").upstream == B
    home.write(f'profile = "mine"\n{profiles}')
    assert home.route("exec").upstream == B


def test_without_a_folder_named_it_is_the_usual_one(tmp_path: Path) -> None:
    """In the user's home."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(f'model_provider = "a"\n{PROVIDERS}')
    assert route([], {"HOME": str(tmp_path)}, lambda: NEW) == Route(A, "a")


# The built-in provider


@pytest.mark.parametrize(
    ("stored", "address"),
    [
        (None, KEY_ADDRESS),
        ("{", KEY_ADDRESS),
        ("[]", KEY_ADDRESS),
        ({"OPENAI_API_KEY": "sk-1"}, KEY_ADDRESS),
        ({"OPENAI_API_KEY": "sk-1", "tokens": {"access_token": "t"}}, KEY_ADDRESS),
        ({"auth_mode": "apikey", "OPENAI_API_KEY": "sk-1", "tokens": None}, KEY_ADDRESS),
        ({"OPENAI_API_KEY": None, "tokens": {"access_token": "t"}}, LOGIN_ADDRESS),
        ({"auth_mode": "chatgpt", "OPENAI_API_KEY": "sk-1", "tokens": {"access_token": "t"}}, LOGIN_ADDRESS),
        ({"auth_mode": "chatgptAuthTokens", "tokens": {"access_token": "t"}}, LOGIN_ADDRESS),
    ],
)
def test_the_built_in_address_is_that_of_the_login(home: Home, stored: object, address: str) -> None:
    """A key's or ChatGPT's; what can't be read is Codex's to complain about."""
    if stored is not None:
        home.write(stored if isinstance(stored, str) else json.dumps(stored), "auth.json")
    chosen = home.route("exec")
    assert (chosen, chosen.settings(OURS)) == (Route(address, "openai"), {"openai_base_url": OURS})


@pytest.mark.parametrize(
    ("words", "variables", "address"),
    [
        (["exec", "Go."], {"CODEX_API_KEY": "sk-1"}, KEY_ADDRESS),
        (["-m", "resume", "e"], {"CODEX_API_KEY": "sk-1"}, KEY_ADDRESS),
        (["review"], {"CODEX_API_KEY": "sk-1", "CODEX_ACCESS_TOKEN": "at-1"}, KEY_ADDRESS),
        (["exec", "Go."], {"OPENAI_API_KEY": "sk-1"}, LOGIN_ADDRESS),
        (["resume", "--last"], {"CODEX_API_KEY": "sk-1"}, LOGIN_ADDRESS),
        ([], {"CODEX_API_KEY": "sk-1"}, LOGIN_ADDRESS),
    ],
)
def test_a_key_in_the_environment_counts_where_codex_looks_for_it(
    home: Home, words: list[str], variables: Mapping[str, str], address: str
) -> None:
    """A run without a terminal takes it before the login, the terminal never."""
    home.write(json.dumps({"tokens": {"access_token": "t"}}), "auth.json")
    assert home.route(*words, variables=variables).upstream == address


def test_a_token_in_the_environment_is_a_login(home: Home) -> None:
    """Whatever key is stored."""
    home.write(json.dumps({"OPENAI_API_KEY": "sk-1"}), "auth.json")
    assert home.route(variables={"CODEX_ACCESS_TOKEN": "at-1"}).upstream == LOGIN_ADDRESS


@pytest.mark.parametrize(
    ("version", "upstream", "settings", "variables"),
    [
        ((0, 80, 0), B, {}, {"OPENAI_BASE_URL": OURS}),
        ((0, 114, 9), B, {}, {"OPENAI_BASE_URL": OURS}),
        ((0, 115, 0), A, {"openai_base_url": OURS}, {}),
        ((0, 166, 0), A, {"openai_base_url": OURS}, {}),
    ],
)
def test_old_versions_take_the_address_from_the_environment(
    home: Home, version: tuple[int, ...], upstream: str, settings: dict[str, object], variables: dict[str, str]
) -> None:
    """They don't know the setting."""
    home.write(f'openai_base_url = "{A}"\n')
    chosen = home.route("exec", version=version, variables={"OPENAI_BASE_URL": B})
    assert (chosen.upstream, chosen.settings(OURS), chosen.variables(OURS)) == (upstream, settings, variables)


@pytest.mark.parametrize(("version", "upstream"), [((0, 118, 0), B), ((0, 119, 0), KEY_ADDRESS)])
def test_new_versions_do_not_look_there(home: Home, version: tuple[int, ...], upstream: str) -> None:
    """So that requests go where they go without Ledger."""
    assert home.route("exec", version=version, variables={"OPENAI_BASE_URL": B}).upstream == upstream


def test_the_version_is_asked_for_only_where_it_matters(home: Home) -> None:
    """It costs the start of a program."""

    def asked() -> tuple[int, ...]:
        raise AssertionError("the version was asked for")

    home.write(f'model_provider = "a"\n{PROVIDERS}')
    assert route([], {"CODEX_HOME": str(home.folder)}, asked) == Route(A, "a")
    assert route(["-c", "model_provider=openai"], {"CODEX_HOME": str(home.folder)}, asked, B) == Route(B, OWN)


# An upstream that the user names


@pytest.mark.parametrize("name", ["openai", "ollama", "amazon-bedrock"])
@pytest.mark.parametrize(("variables", "key"), [({}, {}), ({"OPENAI_API_KEY": "k"}, {"env_key": "OPENAI_API_KEY"})])
def test_in_place_of_a_built_in_provider_stands_our_own(
    home: Home, name: str, variables: Mapping[str, str], key: dict[str, str]
) -> None:
    """With the key that there is; the key itself is in no setting."""
    home.write(f'model_provider = "{name}"\n')
    chosen = home.route(upstream=B, variables=variables)
    table = {"name": "Ledger", "base_url": OURS, "wire_api": "responses", **key}
    assert chosen.upstream == B
    assert chosen.settings(OURS) == {"model_provider": OWN, f"model_providers.{OWN}": table}
    assert tomllib.loads(overridden([], chosen.settings(OURS))[3])["model_providers"][OWN] == table


def test_in_place_of_the_users_provider_only_the_address_changes(home: Home) -> None:
    """Its key and headers stay, also where it had no address or spoke otherwise."""
    home.write('model_provider = "a"\n[model_providers.a]\nwire_api = "chat"\n')
    chosen = home.route(upstream=B)
    assert (chosen, chosen.settings(OURS)) == (Route(B, "a"), {"model_providers.a.base_url": OURS})


# What can't be


def test_what_cannot_be_routed_is_named(home: Home) -> None:
    """With what was found, and what to do."""
    upstream = "hint: name its address: execledger run --upstream URL"
    home.write('model_provider = "a"\n')
    assert home.refusal() == f"HOME/config.toml: found no base_url to change for the provider `a`\n{upstream}"
    home.write('model_provider = "a"\nmodel_providers = 1\n')
    assert home.refusal() == f"HOME/config.toml: found no base_url to change for the provider `a`\n{upstream}"
    home.write(f'model_provider = "ollama"\n[model_providers.ollama]\nbase_url = "{A}"\n')
    assert home.refusal() == f"HOME/config.toml: found no base_url to change for the provider `ollama`\n{upstream}"
    home.write(f'model_provider = "a"\n[model_providers.a]\nbase_url = "{A}"\nwire_api = "chat"\n')
    assert home.refusal().splitlines() == [
        "HOME/config.toml: `a` speaks chat, Ledger's proxy speaks responses",
        "hint: set wire_api to responses, if the server speaks it",
    ]


def test_a_broken_file_is_named(home: Home) -> None:
    """With its line."""
    home.write("model = gpt\n")
    assert home.refusal().splitlines() == [
        "HOME/config.toml: can't be read: Invalid value (at line 1, column 9)",
        "hint: Codex itself would not start with it",
    ]


@pytest.mark.parametrize("upstream", ["", A])
def test_a_local_server_of_codexs_own_is_past_us(home: Home, upstream: str) -> None:
    """With an address or without: this option of Codex is stronger than its settings."""
    assert home.refusal("--oss", "exec", upstream=upstream).splitlines() == [
        "codex --oss: found a local server, which Codex talks to past any proxy",
        "hint: leave --oss out, and name the server: execledger run --upstream URL -- codex -m MODEL ...",
    ]


def test_no_file_is_written(home: Home) -> None:
    """Whatever is read."""
    home.write(f'model_provider = "a"\n{PROVIDERS}')
    home.write('{"OPENAI_API_KEY": "sk-1"}', "auth.json")
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.folder.iterdir()}
    home.route("exec")
    home.route("exec", "-c", "model_provider=openai")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.folder.iterdir()} == before


# The command line


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["exec", "Go."], ["-c", f'k.base="{OURS}"', "exec", "Go."]),
        (["exec", "-c", f"k.base={A}", "Go."], ["exec", "-c", f'k.base="{OURS}"', "Go."]),
        (["exec", f"-ck.base={A}", f"--config=k.base={A}"], ["exec", "-c", f'k.base="{OURS}"']),
        (["--config", f" k.base = {A}", "exec"], ["-c", f'k.base="{OURS}"', "exec"]),
        (["exec", "-c", "k={}", "Go."], ["exec", "-c", "k={}", "-c", f'k.base="{OURS}"', "Go."]),
        (["-ck.bases=1", "exec"], ["-ck.bases=1", "-c", f'k.base="{OURS}"', "exec"]),
        (["exec", "-c", "k.other=1"], ["exec", "-c", "k.other=1", "-c", f'k.base="{OURS}"']),
        (
            ["-c", "o=1", "exec", "-c", "o=2", "resume", "--config=o=3", "Go."],
            ["-c", "o=1", "exec", "-c", "o=2", "resume", "--config=o=3", "-c", f'k.base="{OURS}"', "Go."],
        ),
        (["exec", "--", "-c", "k.base=1"], ["-c", f'k.base="{OURS}"', "exec", "--", "-c", "k.base=1"]),
        (["exec", "-c"], ["-c", f'k.base="{OURS}"', "exec", "-c"]),
        (["-C", "k.base=1", "exec"], ["-c", f'k.base="{OURS}"', "-C", "k.base=1", "exec"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_our_settings_win(words: list[str], expected: list[str]) -> None:
    """They follow the user's last setting; the user's own for the same key goes, and all else stays in its order."""
    assert overridden(words, {"k.base": OURS}) == expected


@pytest.mark.parametrize(
    ("words", "version", "provider"),
    [
        (["-c", "model_provider=a", "exec", "-c", "x=1"], (0, 163, 0), "b"),
        (["-c", "model_provider=a", "exec", "-c", "x=1"], (0, 164, 0), "a"),
        (["-c", "model_provider=a", "exec"], (0, 100, 0), "a"),
        (["-c", "model_provider=a", "resume", "-c", "x=1"], (0, 100, 0), "a"),
        (["exec", "-c", "model_provider=a"], (0, 100, 0), "a"),
        (["-p", "q", "exec"], (0, 100, 0), "b"),
        (["exec", "-p", "q"], (0, 100, 0), "a"),
        (["-p", "q", "exec"], (0, 125, 0), "a"),
    ],
    ids=str,
)
def test_settings_that_a_version_ignores_do_not_count(
    words: list[str], version: tuple[int, ...], provider: str, home: Home
) -> None:
    """The address that is changed must be that of the provider which this version will ask."""
    home.write(f'model_provider = "b"\n{PROVIDERS}[profiles.q]\nmodel_provider = "a"\n')
    assert home.route(*words, version=version).provider == provider


def test_texts_are_spelled_as_toml() -> None:
    """Whatever is in a path."""
    odd = 'a "b" \\ \n é 🙂 = {'
    assert tomllib.loads(overridden([], {"k": {"a.b": odd}})[1]) == {"k": {"a.b": odd}}


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], ""),
        (["exec", "login"], "exec"),
        (["-c", "a=b", "-m", "login", "--search", "login", "status"], "login"),
        (["--model=login", "-clogin", "fork"], "fork"),
        (["-p", "debug", "Mend it."], "Mend it."),
        (["--", "login"], ""),
        (["-c"], ""),
    ],
)
def test_the_subcommand_is_the_first_word_that_is_no_options(words: list[str], command: str) -> None:
    """A value of an option is not taken for one."""
    assert subcommand(words) == command
