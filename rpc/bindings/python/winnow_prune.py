"""Messages of a framework, pruned before each request: the part that all hooks share.

winnow_pydantic_ai, winnow_openai_agents, winnow_langchain and winnow_llama_index use it. For another
framework, write its messages as those of OpenAI's Chat Completions, and apply each Decision:

    pruner = Pruner(model="openai/gpt-5.2")
    for at, shown in pruner.decide(messages):
        ...
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, cast

from winnow import PrunedMessages, Winnow, WinnowError

__all__ = ["Decision", "Entry", "Pruner", "arguments", "text_of", "tokens"]

#: A message as JSON: of OpenAI's Chat Completions, or an item of its Responses.
Entry = Dict[str, Any]

_log = logging.getLogger("winnow")


class Decision(NamedTuple):
    """What is sent in one place.

    at is the place of the message that was handed in, -1 for a new one: the summary. shown is None
    where that message is sent unchanged, else its new text.
    """

    at: int
    shown: Optional[Entry]


class Pruner:
    """Decides which messages are sent, with an engine that runs as long as the program.

    model is "provider/id" of the model that reads the messages; its window and prices decide. The
    hooks ask their framework for it. keep prunes results of tools, and never folds the past into a
    summary. winnow is a client that the program has already.
    """

    def __init__(self, model: Optional[str] = None, *, keep: bool = False, winnow: Optional[Winnow] = None):
        self.model = model
        self.keep = keep
        self._winnow = winnow
        self._starting = threading.Lock()

    def decide(
        self,
        messages: Sequence[Entry],
        *,
        model: Optional[str] = None,
        besides: int = 0,
        keep: bool = False,
    ) -> Optional[List[Decision]]:
        """The messages to send, in their order; None if all are sent unchanged.

        besides is the size in tokens of the system prompt and the tools, where they are not in the
        messages. An engine that fails is logged as a warning, and costs no request: all is sent.
        """
        if not messages:
            return None
        winnow = self._client()
        try:
            pruned = winnow.prune_messages(messages, self.model or model, besides, self.keep or keep)
        except WinnowError as error:
            _log.warning("the messages are sent unpruned: %s", error)
            return None
        decisions = _matched(messages, pruned)
        if all(shown is None for _, shown in decisions) and len(decisions) == len(messages):
            return None
        return decisions

    async def decide_async(
        self,
        messages: Sequence[Entry],
        *,
        model: Optional[str] = None,
        besides: int = 0,
        keep: bool = False,
    ) -> Optional[List[Decision]]:
        """decide, without blocking the event loop."""
        return await asyncio.to_thread(self.decide, messages, model=model, besides=besides, keep=keep)

    def close(self) -> None:
        """Ends the engine. The next request starts another one."""
        with self._starting:
            winnow, self._winnow = self._winnow, None
        if winnow:
            winnow.close()

    def _client(self) -> Winnow:
        with self._starting:
            if not self._winnow:
                self._winnow = Winnow(client="winnow_prune.py", timeout=60)
            return self._winnow


def arguments(value: Any) -> str:
    """The arguments of a call as JSON, as providers send them."""
    return value if isinstance(value, str) else json.dumps(value or {}, ensure_ascii=False, default=str)


def text_of(entry: Entry) -> str:
    """The text of a message."""
    content: Any = entry.get("content", entry.get("output"))
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content or () if "text" in part)


def tokens(*values: Any) -> int:
    """The estimated size of instructions and tools, in steps of 1,000, so that a date in them does
    not change earlier decisions."""
    size = sum(len(v) if isinstance(v, str) else len(arguments(v)) for v in values if v)
    return -(-size // 4000) * 1000


def _matched(messages: Sequence[Entry], pruned: PrunedMessages) -> List[Decision]:
    """Finds the message of each changed one: by the id of its call, else by its role. Ids may repeat,
    so the search begins behind the last match and ends at the next unchanged message."""
    summary = pruned["sent"]["summary"]
    ends = _ends(pruned["from"], len(messages))
    decisions: List[Decision] = []
    next = 0
    for shown, at, end in zip(pruned["messages"], pruned["from"], ends):
        if at >= 0:
            decisions.append(Decision(at, None))
        elif summary and _contains(shown, summary):
            decisions.append(Decision(-1, shown))
            continue
        else:
            key = _key(shown)
            at = next
            while at < end and _key(messages[at]) != key:
                at += 1
            if at == end:
                decisions.append(Decision(-1, shown))
                continue
            decisions.append(Decision(at, shown))
        next = at + 1
    return decisions


def _ends(places: Sequence[int], end: int) -> List[int]:
    """For each place, that of the next unchanged message."""
    ends: List[int] = []
    for at in reversed(places):
        ends.append(end)
        end = at if at >= 0 else end
    return ends[::-1]


def _key(entry: Entry) -> Tuple[Any, ...]:
    """What a message and its changed version have in common."""
    calls: Iterable[Entry] = entry.get("tool_calls") or ()
    return (
        entry.get("type", "message"),
        entry.get("role"),
        entry.get("tool_call_id") or entry.get("call_id"),
        tuple(call.get("id") for call in calls),
    )


def _contains(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, dict):
        return any(_contains(v, text) for v in cast(Entry, value).values())
    return isinstance(value, list) and any(_contains(v, text) for v in cast("List[Any]", value))
