"""Starts opencode with Ledger's proxy between it and its models; called by ``execledger run``.

opencode may ask several providers in one session. Each that it can ask gets a route of its own at the proxy, by
``OPENCODE_CONFIG_CONTENT``, which is merged over the user's files; of that variable's own content nothing is lost.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from execledger.agents.behind_proxy import AgentCommand, reports_for, run_behind_proxy
from execledger.agents.opencode.hooks import PORT, plugin, with_plugin
from execledger.agents.opencode.tools import ADAPTER
from execledger.agents.registry import Launch
from execledger.agents.settings_files import nested, parsed_settings, read_settings
from execledger.core.wording import printable
from execledger.errors import LedgerError
from execledger.proxy.json_split import NOT_JSON

CONTENT = "OPENCODE_CONFIG_CONTENT"
"""The variable with configuration that is merged over all files."""
OFFICIAL: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",)),
    "openai": ("https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "opencode": ("https://opencode.ai/zen/v1", ("OPENCODE_API_KEY",)),
    "google": ("https://generativelanguage.googleapis.com/v1beta", ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY")),
    "openrouter": ("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "groq": ("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "xai": ("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "mistral": ("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "cerebras": ("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "deepseek": ("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
}
"""Providers whose addresses opencode has built in, with the variables of their keys."""
REFUSED: Mapping[str, str] = {
    "amazon-bedrock": "requests to Amazon Bedrock are signed for its own address",
    "google-vertex": "requests to Google Vertex AI are signed for its own address",
    "google-vertex-anthropic": "requests to Google Vertex AI are signed for its own address",
    "github-copilot": "GitHub's own models are only reached at GitHub's address",
}
"""Providers that can't be redirected, with the reason."""
ASIDE = frozenset(
    "completion mcp debug providers auth upgrade uninstall models stats export import session plugin plug db "
    "-v --version -h --help".split()
)
"""Subcommands and options that ask no model: these start as they are."""
MANAGED = Path("/etc/opencode")
"""Where an administrator's configuration is; nothing overrides it."""
NAMES = ("opencode.json", "opencode.jsonc")
"""The names of configuration files."""
_VARIABLE = re.compile(r"\{env:([^}]*)\}")


class ConfigSource(NamedTuple):
    """One configuration."""

    name: str
    """Where it is."""
    config: dict[str, Any]
    """What it says."""
    owner: str
    """Whose it is: ``user``, ``project`` or ``administrator``."""


def start(program: str, arguments: list[str], launch: Launch) -> int:
    """Run opencode to its end; its exit status."""
    if not ASIDE.isdisjoint(arguments[:1]):
        os.execv(program, [program, *arguments])
    content = content_of(os.environ)
    sources = [*config_sources(os.environ, Path.cwd())]
    addresses = addresses_of(sources, os.environ, model_of(arguments, sources), launch.options.get("--upstream", ""))

    reports = reports_for(launch, PORT)

    def command(url: str, stack: ExitStack) -> AgentCommand:
        own = {"provider": {name: {"options": {"baseURL": f"{url}/{name}"}} for name in addresses}}
        merged = _merged(content, own)
        if reports is not None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="execledger-"))
            file = Path(folder, "ledger.js")
            file.write_text(plugin(f"{url}{reports.path}"))
            merged = with_plugin(merged, file.as_uri())
        return AgentCommand(arguments, {CONTENT: msgspec.json.encode(merged).decode()})

    routes = {f"/{name}": address for name, address in addresses.items()}
    return run_behind_proxy(program, launch, ADAPTER, "", command, prefix="", routes=routes, reports=reports)


def addresses_of(
    sources: Sequence[ConfigSource], environment: Mapping[str, str], model: str, upstream: str
) -> dict[str, str]:
    """The address of each provider that is led to the proxy, by its name.

    These are the providers with a known address that the user has configured, has a key for, or names by ``model``;
    ``upstream`` is the address of the latter.
    """
    chosen = model.partition("/")[0]
    if upstream and not chosen:
        raise LedgerError(
            "--upstream: found no provider that it belongs to",
            hint="name the model: execledger run --upstream URL -- opencode --model PROVIDER/MODEL",
        )
    if chosen in REFUSED and not upstream:
        raise LedgerError(f"{model}: {REFUSED[chosen]}", hint="use a provider with an API key: --model PROVIDER/MODEL")
    logins = logins_of(environment)
    listed = listed_providers(environment)
    found = {name: address for name, (address, _) in OFFICIAL.items()} | _listed_addresses(listed)
    keys = {name: variables for name, (_, variables) in OFFICIAL.items()} | listed_keys(listed)
    configured = _configured(sources, chosen if upstream else "")
    wanted = {"opencode", chosen, *configured, *logins}
    wanted |= {name for name, variables in keys.items() if any(map(environment.get, variables))}
    found |= {name: _expanded(address, environment) for name, address in configured.items() if address}
    found |= {chosen: upstream} if upstream else {}
    if logins.get("openai") == "oauth" and not environment.get("OPENAI_API_KEY"):
        # With a login of ChatGPT, opencode asks an address that no setting replaces.
        found.pop("openai", None)
        if chosen == "openai":
            raise LedgerError(
                f"{model}: with a login of ChatGPT, opencode asks an address that can't be replaced",
                hint="set OPENAI_API_KEY, or use that login with Codex: execledger run -- codex",
            )
    if chosen and chosen not in found:
        hint = f"execledger run --upstream URL -- opencode ..., or provider.{chosen}.options.baseURL in your own files"
        raise LedgerError(f"{model}: the address of the provider {chosen} is not known", hint=hint)
    return {name: address for name, address in found.items() if name in wanted and name not in REFUSED}


def _configured(sources: Sequence[ConfigSource], given: str) -> dict[str, str]:
    """The configured providers with their addresses, "" without one; that of ``given`` is the user's choice."""
    options: dict[str, str] = {}
    api: dict[str, str] = {}
    of_models: list[tuple[str, str]] = []
    for source in sources:
        providers = source.config.get("provider")
        for name, provider in providers.items() if isinstance(providers, dict) else ():
            option, own = str(nested(provider, "options", "baseURL") or ""), str(nested(provider, "api") or "")
            options[name], api[name] = option or options.get(name, ""), own or api.get(name, "")
            models = nested(provider, "models")
            inner = [nested(one, "provider", "api") for one in (models.values() if isinstance(models, dict) else ())]
            of_models += [(name, str(address)) for address in inner if address]
            for address in filter(None, (option, own, *inner)) if name != given else ():
                _check_owner(source, name, str(address))
    # What the option says is stronger than the other.
    found = {name: options[name] or api[name] for name in options}
    for name, address in of_models:
        if address != found[name] and name != given:
            raise LedgerError(
                f"provider.{name}: a model is asked at {address}, which would be replaced by the provider's address",
                hint="make it a provider of its own in your configuration",
            )
    return found


def _check_owner(source: ConfigSource, name: str, address: str) -> None:
    """Refuse an address that is not the user's own."""
    if source.owner == "administrator":
        raise LedgerError(
            f"{source.name}, an administrator's file, sends opencode to {address}, and nothing overrides it",
            hint="have the address removed there, or run `execledger proxy` at that address",
        )
    if source.owner == "project":
        raise LedgerError(
            f"{source.name} of this project sends opencode, and with it your key, to {printable(address)}",
            hint=f"if you want that: execledger run --upstream {printable(shlex.quote(address))} "
            f"-- opencode --model {printable(shlex.quote(f'{name}/MODEL'))}",
        )


def content_of(environment: Mapping[str, str]) -> dict[str, Any]:
    """The configuration in the variable that is to be extended; refused if it can't be read, instead of being lost."""
    try:
        return parsed_settings(environment.get(CONTENT) or "{}")
    except NOT_JSON as error:
        hint = "mend it, or unset it"
        raise LedgerError(f"{CONTENT}: found no configuration that can be read: {error}", hint=hint) from None


def config_sources(environment: Mapping[str, str], cwd: Path) -> Iterator[ConfigSource]:
    """The configurations that opencode reads, the weakest first."""
    home = Path(environment.get("HOME") or Path.home())
    own = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    for path in (*(own / name for name in ("config.json", *NAMES)), *_named(environment, "OPENCODE_CONFIG")):
        yield ConfigSource(str(path), read_settings(path), "user")
    if not environment.get("OPENCODE_DISABLE_PROJECT_CONFIG"):
        for folder in reversed([cwd, *cwd.parents]):
            for path in (*(folder / name for name in NAMES), *(folder / ".opencode" / name for name in NAMES)):
                yield ConfigSource(str(path), read_settings(path), "user" if folder == home else "project")
    for folder in _named(environment, "OPENCODE_CONFIG_DIR"):
        for name in NAMES:
            yield ConfigSource(str(folder / name), read_settings(folder / name), "user")
    if content := environment.get(CONTENT):
        yield ConfigSource(CONTENT, content_of({CONTENT: content}), "user")
    for name in NAMES:
        yield ConfigSource(str(MANAGED / name), read_settings(MANAGED / name), "administrator")


def _named(environment: Mapping[str, str], variable: str) -> Iterator[Path]:
    """The path in a variable, if it is set."""
    if value := environment.get(variable):
        yield Path(value)


def model_of(arguments: Sequence[str], sources: Sequence[ConfigSource]) -> str:
    """The model that is asked for, as ``PROVIDER/MODEL``; "" if opencode chooses."""
    for at, word in enumerate(arguments):
        if word in ("-m", "--model"):
            return arguments[at + 1] if at + 1 < len(arguments) else ""
        if word.startswith("--model="):
            return word.partition("=")[2]
    models = [source.config.get("model") for source in sources]
    return next((model for model in reversed(models) if isinstance(model, str) and model), "")


def logins_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The providers that the user has logged in to, each with the kind of login; secrets are not kept."""
    home = Path(environment.get("HOME") or Path.home())
    folder = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
    entries = read_settings(folder / "auth.json").items()
    return {name: str(entry.get("type") or "") for name, entry in entries if isinstance(entry, dict)}


def listed_providers(environment: Mapping[str, str]) -> dict[str, Any]:
    """opencode's list of providers, as it last fetched it."""
    home = Path(environment.get("HOME") or Path.home())
    folder = Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "opencode"
    return read_settings(Path(environment.get("OPENCODE_MODELS_PATH") or folder / "models.json"))


def _listed_addresses(listed: Mapping[str, Any]) -> dict[str, str]:
    """The addresses of listed providers."""
    found = {name: nested(entry, "api") for name, entry in listed.items()}
    # Some addresses have placeholders, for a region or an account.
    return {name: api for name, api in found.items() if isinstance(api, str) and api and "$" not in api}


def listed_keys(listed: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The variables of listed providers: with a value for one of them, opencode offers the provider's models."""
    found = {name: nested(entry, "env") for name, entry in listed.items()}
    return {name: tuple(map(str, env)) for name, env in found.items() if isinstance(env, list)}


def _expanded(address: str, environment: Mapping[str, str]) -> str:
    """An address with the values of the variables that it names."""
    return _VARIABLE.sub(lambda found: environment.get(found[1], ""), address)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two configurations, objects merged; ``above`` has precedence."""
    merged = dict(below)
    for name, value in above.items():
        before = merged.get(name)
        merged[name] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged
