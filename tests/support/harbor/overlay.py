"""An environment for Harbor without a container engine: an overlay of this machine's files in a mount namespace.

It needs root on Linux. Files that a trial writes are in a file system in memory and vanish with it. ``/app`` has the
files of the task's ``environment`` folder. Programs are those of this machine.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from tests.support.harbor import PATH

_START = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for place in proc dev sys; do mount --rbind "/$place" "$1/root/$place"; done
mkdir -p "$1/root/app" "$1/root/home/agent" "$1/root/installed-agent"
echo ready
exec sleep infinity
"""


class OverlayEnvironment(BaseEnvironment):
    """One overlay per trial."""

    @staticmethod
    def type() -> str:
        """The name of this kind of environment."""
        return "overlay"

    def _validate_definition(self) -> None:
        """Any task will do: there is nothing to build."""

    @property
    def _root(self) -> Path:
        """The overlay, as this process reaches it."""
        return Path(f"/proc/{self._holder.pid}/root{self._folder}/root")

    async def start(self, force_build: bool) -> None:
        """Mount the overlay, in a namespace that a sleeping process holds."""
        self._folder = tempfile.mkdtemp(prefix="overlay-")
        command = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _START, "sh", self._folder)
        self._holder = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert self._holder.stdout is not None
        if await self._holder.stdout.readline() != b"ready\n":
            raise RuntimeError("the overlay can't be mounted")
        shutil.copytree(self.environment_dir, self._root / "app", dirs_exist_ok=True)
        await self.ensure_dirs(["/logs/agent", "/logs/verifier", "/logs/artifacts"])

    async def stop(self, delete: bool) -> None:
        """End the namespace, and with it all that was written."""
        self._holder.kill()
        await self._holder.wait()
        os.rmdir(self._folder)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the overlay."""
        target = self._root / target_path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder into the overlay."""
        shutil.copytree(source_dir, self._root / target_dir.lstrip("/"), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out of the overlay."""
        shutil.copy(self._root / source_path.lstrip("/"), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder out of the overlay."""
        shutil.copytree(self._root / source_dir.lstrip("/"), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command in bash, below the overlay."""
        variables = {
            "PATH": os.environ.get(PATH, os.environ["PATH"]),
            "HOME": "/home/agent",
            # Without a network the import of litellm fails now and then: a thread of it retries to fetch prices.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            **(self._merge_env(env) or {}),
        }
        enter = ("nsenter", "--mount", f"--target={self._holder.pid}", "chroot", f"{self._folder}/root", "bash", "-c")
        process = await asyncio.create_subprocess_exec(
            *enter,
            'cd "$1" && eval "$2"',
            "bash",
            cwd or "/app",
            command,
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0)
