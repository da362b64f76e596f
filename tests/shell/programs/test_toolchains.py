"""Build tools of many languages."""

from __future__ import annotations

import pytest

from execledger.shell.facts import Part, runs
from execledger.vocabulary.records import Category
from tests.shell.programs.calling import changes, kind, kinds, understand


@pytest.mark.parametrize(
    "line",
    [
        "make test",
        "make -j4 check",
        "make -j 4 -C sub unit-test",
        "make clean test",
        "cargo test",
        "cargo +nightly nextest run",
        "go test ./...",
        "npm test",
        "npm run test:unit",
        "npm t",
        "yarn test",
        "yarn jest a.js",
        "pnpm --filter x run e2e",
        "bun test",
        "npx jest",
        "npx vitest@1 run",
        "mvn -q -pl x test",
        "gradlew :app:integrationTest",
        "gradle check",
        "sbt 'testOnly x'",
        "dotnet test",
        "swift test",
        "bazel test //...",
        "mix test",
        "deno test",
        "cabal test",
        "stack test",
    ],
)
def test_tests(line: str) -> None:
    """Their tests may change anything."""
    assert kind(line) == ("test", "unknown")


def test_builds() -> None:
    """Building is set-up."""
    assert kinds(
        "make",
        "make -j8 all",
        "make install CC=gcc",
        "cmake ..",
        "gcc -o a a.c",
        "cargo build",
        "go mod tidy",
        "go build ./...",
        "npm ci",
        "npm run build",
        "yarn",
        "mvn compile",
        "gradle build",
        "dotnet restore",
    ) == {("setup", "unknown")}


def test_formatting_tasks() -> None:
    """They rewrite any source."""
    for line in (
        "make format",
        "cargo fmt",
        "go fmt ./...",
        "cargo clippy --fix",
        "npm run lint:fix",
        "gradle spotlessApply",
    ):
        assert changes(line) == ("unknown", "TREE", []), line


def test_checks_and_other_tasks() -> None:
    """What is neither test nor build is something else."""
    assert kinds(
        "make type-check",
        "npm run format:check",
        "make lint",
        "cargo fmt --check",
        "cargo clippy",
        "go vet ./...",
        "npm run frob",
        "npm start",
    ) == {("other", "unknown")}


def test_running_the_project() -> None:
    """Running its own code reproduces."""
    for line in ("cargo run", "go run main.go", "deno run a.ts", "bun a.ts"):
        assert understand(line).reproduces, line


def test_looking() -> None:
    """They look without changing, unless told otherwise."""
    for line in ("go list ./...", "go env GOPATH", "go version"):
        assert understand(line) == Part(category=Category.SEARCH, foreign=True), line
    for line in ("npm ls", "npm view x"):
        assert understand(line) == runs(Category.SEARCH), line
    assert kinds("go env -w A=1", "go list -mod=mod ./...", "cargo metadata", "cargo tree") == {("other", "unknown")}


def test_fetched_programs_are_not_harmless() -> None:
    """``npx`` may install what it runs."""
    assert changes("npx prettier --write a.js") == ("unknown", "FILES", ["a.js"])
    assert kind("npx cat a.js") == ("inspect", "unknown")
