"""A hook for Pydantic AI (pydantic-ai 2): old results of tools are pruned, and the past is folded into
a summary, before each request. The run's own messages stay the originals.

    from pydantic_ai import Agent
    from winnow_pydantic_ai import PrunedHistory

    agent = Agent("openai:gpt-5.2", capabilities=[PrunedHistory()])

Use one PrunedHistory for the whole program: it runs one engine.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    CompactionPart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    NativeToolReturnPart,
    RetryPromptPart,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.tools import RunContext

from winnow import Winnow
from winnow_prune import Decision, Entry, Pruner, text_of, tokens

__all__ = ["PrunedHistory"]

# Where an entry comes from: the message, and the part of a request; -1 is a whole response.
_Origin = Tuple[int, int]


class PrunedHistory(AbstractCapability[Any]):
    """A capability of an agent. model is "provider/id", by default that of each request; keep never
    folds; winnow is a client that the program has already."""

    def __init__(self, model: Optional[str] = None, *, keep: bool = False, winnow: Optional[Winnow] = None):
        self.pruner = Pruner(model, keep=keep, winnow=winnow)

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        asked = request_context.model_request_parameters
        tools = [
            [tool.name, tool.description, tool.parameters_json_schema]
            for tool in [*asked.function_tools, *asked.output_tools]
        ]
        instructions = [m.instructions for m in request_context.messages if isinstance(m, ModelRequest)][-1:]
        pruned = copy.copy(request_context)
        pruned.messages = await self.prune(
            request_context.messages, model=_model(request_context.model), besides=tokens(instructions, tools)
        )
        return await handler(pruned)

    async def prune(
        self, messages: List[ModelMessage], *, model: Optional[str] = None, besides: int = 0
    ) -> List[ModelMessage]:
        """The messages to send in the place of these, which are not changed."""
        entries: List[Entry] = []
        origins: List[_Origin] = []
        keep = False  # whether parts hold a state that a summary would lose
        for i, message in enumerate(messages):
            if isinstance(message, ModelResponse):
                entries.append(_response(message))
                origins.append((i, -1))
                keep = keep or any(isinstance(p, CompactionPart) or _of_framework(p) for p in message.parts)
                continue
            for j, part in enumerate(message.parts):
                if entry := _entry(part):
                    entries.append(entry)
                    origins.append((i, j))
        decisions = await self.pruner.decide_async(entries, model=model, besides=besides, keep=keep)
        return _applied(messages, origins, decisions) if decisions else messages


def _model(model: Model) -> str:
    return f"{model.system.split('-')[0].split(':')[0]}/{model.model_name}"


def _of_framework(part: Any) -> bool:
    """Whether Pydantic AI reads a state of its own out of a part: which tools are loaded."""
    return getattr(part, "tool_kind", None) is not None


def _entry(part: ModelRequestPart) -> Optional[Entry]:
    """A part of a request as a message; None if the model is not sent it."""
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        return {"role": "user", "content": _content(part.content)}
    if isinstance(part, SpeechPart):
        return {"role": "user", "content": part.transcript or ""}
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if isinstance(part, RetryPromptPart):
        if part.tool_name is None:
            return {"role": "user", "content": part.model_response()}
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
    return None


def _content(content: Union[str, Sequence[UserContent]]) -> Any:
    if isinstance(content, str):
        return content
    shown: List[Dict[str, Any]] = []
    for item in content:
        if isinstance(item, (str, TextContent)):
            shown.append({"type": "text", "text": item if isinstance(item, str) else item.content})
        elif isinstance(item, ImageUrl):
            shown.append({"type": "image_url", "image_url": {"url": item.url}})
        elif isinstance(item, BinaryContent) and item.is_image:
            shown.append({"type": "image_url", "image_url": {"url": item.data_uri}})
        elif isinstance(item, BinaryContent):
            shown.append({"type": "file", "file": {"filename": item.identifier, "file_data": item.data_uri}})
        elif not isinstance(item, CachePoint):
            shown.append({"type": "text", "text": f"[{item.kind}]"})
    return shown


def _response(message: ModelResponse) -> Entry:
    """A response as a message. The engine reads its reasoning, because some models want theirs back
    unchanged."""
    texts: List[str] = []
    thoughts: List[str] = []
    calls: List[Entry] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, ThinkingPart):
            thoughts.append(part.content or "[encrypted]")
        elif isinstance(part, ToolCallPart):
            function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
            calls.append({"id": part.tool_call_id, "type": "function", "function": function})
        elif isinstance(part, NativeToolReturnPart):
            texts.append(part.model_response_str())
        elif isinstance(part, CompactionPart):
            texts.append(part.content or "")
        elif isinstance(part, SpeechPart):
            texts.append(part.transcript or "")
    entry: Entry = {"role": "assistant", "content": "\n\n".join(texts) or ("" if not calls else None)}
    if thoughts:
        entry["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        entry["tool_calls"] = calls
    return entry


def _applied(
    messages: List[ModelMessage], origins: List[_Origin], decisions: List[Decision]
) -> List[ModelMessage]:
    """Applies decisions to messages. Parts without an entry stay."""
    shown: Dict[_Origin, Optional[Entry]] = {}
    new: Dict[_Origin, List[Entry]] = {}  # by what they stand in front of
    waiting: List[Entry] = []
    for at, entry in decisions:
        if at < 0:
            waiting.append(entry or {})
            continue
        shown[origins[at]] = entry
        new[origins[at]], waiting = waiting, []
    sent = set(origins)
    out: List[ModelMessage] = []
    for i, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            if (i, -1) in shown:
                out += _summaries(new[i, -1])
                out.append(_answer(message, shown[i, -1]))
            continue
        parts: List[ModelRequestPart] = []
        for j, part in enumerate(message.parts):
            if (i, j) not in sent:
                parts.append(part)
            elif (i, j) in shown:
                if new[i, j] and parts:
                    out.append(replace(message, parts=parts))
                    parts = []
                out += _summaries(new[i, j])
                parts.append(_part(part, shown[i, j]))
        if len(parts) == len(message.parts) and all(a is b for a, b in zip(parts, message.parts)):
            out.append(message)
        elif parts:
            out.append(replace(message, parts=parts))
    return out + _summaries(waiting)


def _summaries(entries: List[Entry]) -> List[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(content=text_of(entry))]) for entry in entries]


def _part(part: ModelRequestPart, entry: Optional[Entry]) -> ModelRequestPart:
    """A part with the text that is shown of it. The files of a result stay."""
    if entry is None or _of_framework(part):
        return part
    if isinstance(part, ToolReturnPart):
        files = part.files
        return replace(part, content=[text_of(entry), *files] if files else text_of(entry))
    if isinstance(part, RetryPromptPart):
        return replace(part, content=text_of(entry))
    return part


def _answer(message: ModelResponse, entry: Optional[Entry]) -> ModelResponse:
    """A response whose calls have the arguments that are shown; nothing else of it changes."""
    if entry is None:
        return message
    arguments = {call["id"]: call["function"]["arguments"] for call in entry.get("tool_calls") or ()}
    parts = [
        replace(part, args=arguments[part.tool_call_id])
        if isinstance(part, ToolCallPart)
        and not _of_framework(part)
        and arguments.get(part.tool_call_id, part.args_as_json_str()) != part.args_as_json_str()
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts)
