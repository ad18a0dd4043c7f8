"""A loop of its own around winnow: an agent that reads files, on Anthropic's Messages API.

    ANTHROPIC_API_KEY=… python3 example.py "What does this program do?"

ANTHROPIC_BASE_URL and MODEL choose another server and model, WINNOW another winnow.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

from winnow import Rejection, Summarize, Summary, Winnow

BASE = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
MODEL = os.environ.get("MODEL", "claude-sonnet-4-5")
SYSTEM = "You answer questions about the files of the current folder."
TOOLS = [
    {
        "name": "read",
        "description": "Reads a file.",
        "input_schema": {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]},
    }
]


class ProviderError(Exception):
    """How the provider refused a request; winnow is told status, code and message."""

    def __init__(self, status: int, body: str):
        try:
            error: "dict[str, str]" = json.loads(body)["error"]
        except (ValueError, KeyError, TypeError):
            error = {}
        super().__init__(error.get("message", body))
        self.status, self.code = status, error.get("type", "")


def ask(system: str, messages: "list[Any]", tools: "list[Any]", max_tokens: int) -> "dict[str, Any]":
    """Asks the model once. The last message is marked, so that the prompt is cached up to it."""
    if messages and isinstance(messages[-1]["content"], list):
        content = messages[-1]["content"]
        marked = {**content[-1], "cache_control": {"type": "ephemeral"}}
        messages = [*messages[:-1], {**messages[-1], "content": [*content[:-1], marked]}]
    body: "dict[str, Any]" = {"model": MODEL, "max_tokens": max_tokens, "system": system, "messages": messages}
    if tools:
        body["tools"] = tools
    request = urllib.request.Request(
        BASE + "/v1/messages",
        data=json.dumps(body).encode(),
        headers={
            "content-type": "application/json",
            "x-api-key": os.environ.get("ANTHROPIC_API_KEY", ""),
            "anthropic-version": "2023-06-01",
        },
    )
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ProviderError(error.code, error.read().decode(errors="replace")) from None


def summarize(request: Summarize) -> Summary:
    """Writes a summary with the same model: without tools, and never by itself."""
    answer = ask(request["system"], request["messages"], [], request["maxOutput"])
    text = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
    finish = "length" if answer["stop_reason"] == "max_tokens" else "stop"
    return {"text": text, "finish": finish, "usage": answer["usage"]}


def run_tool(call: "dict[str, Any]") -> "dict[str, Any]":
    result: "dict[str, Any]" = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        with open(call["input"]["filePath"], encoding="utf-8", errors="replace") as file:
            return {**result, "content": file.read()}
    except (OSError, KeyError) as error:
        return {**result, "content": str(error), "is_error": True}


def work(winnow: Winnow, session: str, prompt: str) -> str:
    """Lets the model work until it calls no more tools, and returns what it says last."""
    winnow.append(session, [{"role": "user", "content": prompt}], as_="anthropic")
    while True:
        winnow.begin(session)
        try:
            answer = ask(SYSTEM, winnow.messages(session, "anthropic"), TOOLS, 1024)
        except ProviderError as error:
            # If it was too long, the past is folded and the request is made again; else this raises.
            rejection: Rejection = {"status": error.status, "code": error.code, "message": str(error)}
            winnow.observe(session, rejection=rejection)
            continue
        winnow.append(session, [{"role": "assistant", "content": answer["content"]}], as_="anthropic")
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if calls:
            results = [run_tool(call) for call in calls]
            winnow.append(session, [{"role": "user", "content": results}], as_="anthropic")
        done = winnow.observe(session, usage=answer["usage"], as_="anthropic")
        if done.get("compact"):  # compaction.auto is off, and the window is full
            winnow.compact(session, auto=True)
        if not calls and not done.get("continues"):
            winnow.end_turn(session)
            return "".join(block["text"] for block in answer["content"] if block["type"] == "text")


def main() -> None:
    command = [os.environ.get("WINNOW", "winnow"), "engine", "--stdio"]
    with Winnow(command, summarize=summarize, summarize_as="anthropic") as winnow:
        session = winnow.create(title="An example", directory=os.getcwd(), model=f"anthropic/{MODEL}")["session"]
        print(work(winnow, session, " ".join(sys.argv[1:])))
        print(f"winnow inspect {session}", file=sys.stderr)


if __name__ == "__main__":
    main()
