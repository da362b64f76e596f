"""What counts as a container of the agent's own that shares no files."""

from __future__ import annotations

from typing import Any

import pytest

from execledger.agents.mini.config import sealed

DOCKER: dict[str, Any] = {
    "image": "repo:latest",
    "cwd": "/repo",
    "env": {},
    "forward_env": [],
    "timeout": 30,
    "executable": "docker",
    "run_args": ["--rm"],
    "container_timeout": "2h",
    "pull_timeout": 120,
    "interpreter": ["bash", "-lc"],
}
"""What the templates see of the agent's Docker environment."""


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"executable": "/usr/local/bin/podman"},
        {"run_args": []},
        {"run_args": ["--rm", "--network", "none", "--cpus=4", "-m", "8g", "--user", "agent", "--init", "-it"]},
        {"run_args": ["-e", "-v", "--env=A=/a:/b", "--gpus", "all", "-w", "/repo", "--entrypoint="]},
        {"task": "Mend it.", "n_model_calls": 3, "system": "Linux"},
    ],
)
def test_the_agents_docker_environment_is_sealed(settings: dict[str, Any]) -> None:
    """With options that share nothing, in either spelling; a value is no option, whatever it looks like."""
    assert sealed(DOCKER | settings)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--rm", "-v", "/home/me:/repo"],
        ["-v/home/me:/repo"],
        ["-itv", "/home/me:/repo"],
        ["--volume=/home/me:/repo"],
        ["--mount", "type=bind,source=/home/me,target=/repo"],
        ["--volumes-from", "other"],
        ["--privileged"],
        ["--pid=host"],
        ["--rm", "another/image"],
        ["--rm", "--env"],
        "--rm",
        None,
    ],
)
def test_an_option_that_shares_files_or_is_not_known_is_not_sealed(arguments: object) -> None:
    """Nor is a word that is none, an option without its value, or no list at all."""
    assert not sealed(DOCKER | {"run_args": arguments})


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"image": "x"},
        {"image": "x", "cwd": "/", "executable": "docker", "run_args": ["--rm"]},
        DOCKER | {"image": ""},
        DOCKER | {"executable": "singularity"},
        DOCKER | {"executable": "/opt/my-docker-wrapper"},
        {"image": "x", "cwd": "/", "executable": "singularity", "exec_args": ["--contain"], "forward_env": []},
        {"image": "x", "cwd": "/", "timeout": 30, "deployment_extra_kwargs": {"docker_args": ["-v", "/a:/b"]}},
        {"image": "x", "cwd": "/", "modal_sandbox_kwargs": {}, "startup_timeout": 60.0},
        {"image": "x", "contree_config": {}, "forward_env": [], "interpreter": ["bash", "-c"]},
        {"cwd": "", "executable": "bwrap", "wrapper_args": []},
        DOCKER | {"PATH": "/usr/bin"},
    ],
)
def test_whatever_else_is_not_sealed(variables: dict[str, Any]) -> None:
    """An image proves nothing; neither do all the right names where the variables are those of a local process."""
    assert not sealed(variables)
