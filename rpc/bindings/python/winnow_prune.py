"""Messages of a framework, pruned before each request: the part that all hooks share.

winnow_pydantic_ai, winnow_openai_agents, winnow_langchain and winnow_llama_index use it. For another
framework, write its messages as those of OpenAI's Chat Completions, and apply the decisions:

    pruner = Pruner(model="openai/gpt-5.2")
    decisions = pruner.decide(messages)
    if decisions is not None:
        messages = [messages[at] if shown is None else shown for at, shown in decisions]
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
        self._given = winnow is not None
        self._ran = False
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
        messages. An engine that cannot be started the first time is an error. Any other failure is
        logged as a warning, and all is sent.
        """
        if not messages:
            return None
        try:
            winnow = self._client()
            self._ran = True
            pruned = winnow.prune_messages(messages, self.model or model, besides, self.keep or keep)
        except (WinnowError, TypeError, ValueError) as error:  # the latter: a message is not JSON
            if not self._ran:
                raise
            if isinstance(error, WinnowError) and error.code == "gone" and not self._given:
                self.close()
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
    """Finds the message of each one that is sent. The search runs backwards, because a summary stands
    for the oldest messages: those behind it may repeat their words and the ids of their calls."""
    summary = pruned["sent"]["summary"]
    decisions: List[Decision] = []
    end = len(messages)
    for shown, place, floor in reversed(list(zip(pruned["messages"], pruned["from"], _floors(pruned["from"])))):
        at = -1
        if place >= 0 or not (summary and _contains(shown, summary)):
            like = messages[place] if place >= 0 else shown
            at = end - 1
            while at >= floor and not (messages[at] == like if place >= 0 else _key(messages[at]) == _key(like)):
                at -= 1
        if at < floor:
            decisions.append(Decision(-1, shown))
            continue
        decisions.append(Decision(at, None if place >= 0 else shown))
        end = at
    return decisions[::-1]


def _floors(places: Sequence[int]) -> List[int]:
    """For each message that is sent, the first place at which it may have stood."""
    floors: List[int] = []
    floor = 0
    for place in places:
        floor = max(floor, place)
        floors.append(floor)
    return floors


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
