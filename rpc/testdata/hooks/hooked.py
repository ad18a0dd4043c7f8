"""What the test programs share: the task, its tool, and the report of the framework's own history."""

import json
import os

MODEL = "o3-mini"
BASE = os.environ["OPENAI_BASE_URL"]
FIRST = "Never touch main.go. Read all files."
SYSTEM = "You are a careful reader."
PROMPTS = [FIRST, "Now read them again.", "And once more."]


def read(path: str, turn: int) -> str:
    """Reads a file."""
    name, number = path.split("#")
    return "".join(f"line {n} of {name}, {hash_of(name, int(number), n)}\n" for n in range(300))


def hash_of(name: str, number: int, line: int) -> int:
    return (len(name) * 31 + number * 7919 + line * 104729) % 1000003


def check_chat(messages: "list", sent: "list") -> None:
    """Messages that stay are the very same objects; a changed one is a result whose text alone is
    another one. Nothing was folded."""
    changed = [(a, b) for a, b in zip(messages, sent, strict=True) if a is not b]
    assert changed and len(changed) < len(messages) / 2, (len(changed), len(messages))
    for a, b in changed:
        before, after = a.model_dump(), b.model_dump()
        differ = [name for name in before if before[name] != after[name]]
        assert type(a) is type(b) and differ in (["content"], ["blocks"]), (differ, b)
        assert len(str(b.content)) < len(str(a.content)), b


def report(results: "dict[str, str]", calls: "dict", unchanged: bool) -> None:
    """Prints whether the framework's history has each result as the tool returned it."""
    given = {id: json.loads(args) if isinstance(args, str) else args for id, args in calls.items()}
    wrong = [id for id, args in given.items() if results.get(id) != read(**args)]
    print(json.dumps({"calls": len(calls), "wrong": wrong, "unchanged": unchanged}))
