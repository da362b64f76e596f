"""Feeds recorded runs to Headroom's ``compress``, as an agent's loop that sends every request through it.

    python drive_headroom.py FOLDER [MODE] < RUNS

It runs inside the environment that Headroom is installed in. Every run is a line of JSON on standard input; every
answer is one on standard output, after a first line that names the version. A run becomes chat messages, and
``compress`` is asked, with its default options and the given mode, for each request that holds a result more than the
one before it. The answer tells from which request on a result is shown in which way, wherever that changes.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-any-unimported"

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import sys
import time
from typing import Any

from headroom import compress

Message = dict[str, Any]


def turns_of(run: dict[str, Any]) -> dict[int, list[tuple[int, dict[str, Any]]]]:
    """The calls of each turn, with their numbers."""
    turns: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for index, call in enumerate(run["calls"]):
        turns.setdefault(call["turn"], []).append((index, call))
    return turns


def messages_of(calls: list[tuple[int, dict[str, Any]]]) -> list[Message]:
    """The messages of one turn: what the model asked for, and the results."""
    asked = [
        {
            "id": f"call-{index}",
            "type": "function",
            "function": {"name": call["tool"], "arguments": json.dumps(call["args"])},
        }
        for index, call in calls
    ]
    said = {"role": "assistant", "content": calls[0][1].get("text", ""), "tool_calls": asked}
    results = [{"role": "tool", "tool_call_id": f"call-{n}", "content": call["output"]} for n, call in calls]
    return [said, *results]


def results_in(messages: list[Message]) -> dict[int, str]:
    """The text of every result, by the number of its call."""
    tools = (message for message in messages if message.get("role") == "tool")
    return {int(str(one["tool_call_id"]).partition("-")[2]): text_of(one["content"]) for one in tools}


def text_of(content: Any) -> str:
    """A message's content as one text."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def others(messages: list[Message]) -> int:
    """The bytes of all messages that are no results."""
    return sum(len(text_of(one.get("content") or "").encode()) for one in messages if one.get("role") != "tool")


def answer(run: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """What becomes of a run, request by request."""
    history: list[Message] = [{"role": "user", "content": run["task"]}]
    shown = {index: call["output"] for index, call in enumerate(run["calls"])}
    turns, texts = turns_of(run), []
    checks, seconds, other, more = 0, 0.0, 0, 0
    for request in range(1, run["turns"]):
        if request - 1 in turns:
            history += messages_of(turns[request - 1])
            start = time.process_time()
            made = compress([dict(message) for message in history], **options).messages
            seconds += time.process_time() - start
            checks += 1
            more = others(made) - others(history)
            for call, text in results_in(made).items():
                if shown[call] != text:
                    shown[call] = text
                    texts.append({"request": request, "call": call, "text": text})
        other += more
    return {"texts": texts, "checks": checks, "seconds": seconds, "other": other}


def main() -> None:
    """Answer every run."""
    logging.disable(logging.CRITICAL)
    options = {"mode": sys.argv[2]} if len(sys.argv) > 2 else {}
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Whatever else is printed must not stand between the answers.
    os.dup2(2, 1)
    print(json.dumps({"version": importlib.metadata.version("headroom-ai")}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), options)), file=out, flush=True)


if __name__ == "__main__":
    main()
