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


def report(results: "dict[str, str]", calls: "dict[str, str]", unchanged: bool) -> None:
    """Prints whether the framework's history has each result as the tool returned it."""
    wrong = [id for id, args in calls.items() if results.get(id) != read(**json.loads(args))]
    print(json.dumps({"calls": len(calls), "wrong": wrong, "unchanged": unchanged}))
