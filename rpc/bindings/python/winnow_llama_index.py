"""A hook for LlamaIndex: old results of tools are pruned, and the past is folded into a summary,
before each request. An agent's memory keeps the originals.

    from llama_index.core.agent.workflow import FunctionAgent
    from winnow_llama_index import pruned

    agent = FunctionAgent(tools=tools, llm=pruned(OpenAI("gpt-5.2"), "openai/gpt-5.2"))

An agent adds the results of a run to its memory when the run ends. So the hook is not a memory
block: it wraps the model, and every kind of agent sends its messages through it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, TypeVar

from winnow_prune import Decision, Entry, Pruner, arguments, text_of, tokens

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms import LLM

    from winnow import Winnow

__all__ = ["pruned", "pruned_messages"]

_L = TypeVar("_L", bound="LLM")


def pruned(llm: _L, model: str, *, keep: bool = False, winnow: Optional[Winnow] = None) -> _L:
    """A copy of a model that prunes the messages of each chat request. model is "provider/id"; keep
    never folds; winnow is a client that the program has already. Use one for the whole program: it
    runs one engine."""
    pruner = Pruner(model, keep=keep, winnow=winnow)
    kind: Any = type(llm)

    # super() binds the methods: LlamaIndex's spans need it.
    class Pruned(kind):
        __module__ = kind.__module__

        def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            return super().chat(pruned_messages(pruner, messages, kwargs.get("tools")), **kwargs)

        def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            return super().stream_chat(pruned_messages(pruner, messages, kwargs.get("tools")), **kwargs)

        async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            return await super().achat(await _pruned_async(pruner, messages, kwargs.get("tools")), **kwargs)

        async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
            return await super().astream_chat(await _pruned_async(pruner, messages, kwargs.get("tools")), **kwargs)

    Pruned.__name__ = Pruned.__qualname__ = kind.__name__
    llm = llm.model_copy()
    object.__setattr__(llm, "__class__", Pruned)
    return llm


def pruned_messages(pruner: Pruner, messages: Sequence[ChatMessage], tools: Any = None) -> List[ChatMessage]:
    """The messages to send in the place of these, which are not changed."""
    return _applied(messages, pruner.decide([_entry(m) for m in messages], besides=tokens(tools)))


async def _pruned_async(pruner: Pruner, messages: Sequence[ChatMessage], tools: Any) -> List[ChatMessage]:
    decisions = await pruner.decide_async([_entry(m) for m in messages], besides=tokens(tools))
    return _applied(messages, decisions)


def _entry(message: Any) -> Entry:
    """A message as OpenAI's Chat Completions has it."""
    texts: List[str] = []
    parts: List[Entry] = []
    thoughts: List[str] = []
    calls: List[Entry] = []
    for block in message.blocks:
        kind = block.block_type
        if kind == "thinking":
            thoughts.append(block.content or "[encrypted]")
        elif kind == "tool_call":
            calls.append(_as_call(block.tool_call_id, block.tool_name, block.tool_kwargs))
        elif kind in _MEDIA:
            parts.append(_media(block))
        elif kind != "cache":
            texts.append(block.text if kind == "text" else arguments(block.model_dump(mode="json")))
            parts.append({"type": "text", "text": texts[-1]})
    kwargs: Dict[str, Any] = message.additional_kwargs
    if not calls:
        for call in kwargs.get("tool_calls") or ():
            held = call if isinstance(call, dict) else call.model_dump()
            function = held.get("function") or held
            id = held.get("call_id") or held.get("id")  # the former of OpenAI's Responses
            calls.append(_as_call(id, function.get("name"), function.get("arguments")))
    role = getattr(message.role, "value", message.role)
    text = "\n\n".join(texts)
    if role in ("tool", "function") and (kwargs.get("tool_call_id") or kwargs.get("call_id")):
        return {"role": "tool", "tool_call_id": kwargs.get("tool_call_id") or kwargs["call_id"], "content": text}
    if role in ("system", "developer"):
        return {"role": role, "content": text}
    if role not in ("assistant", "chatbot", "model"):
        return {"role": "user", "content": parts if any(p["type"] != "text" for p in parts) else text}
    entry: Entry = {"role": "assistant", "content": text or ("" if not calls else None)}
    if thoughts:
        entry["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        entry["tool_calls"] = calls
    return entry


_MEDIA = ("image", "audio", "video", "document")


def _media(block: Any) -> Entry:
    """A stand-in for an image or a file, which stays until its message is folded."""
    if block.block_type == "image":
        return {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    file = {"filename": getattr(block, "title", None) or "file", "file_data": "data:application/octet-stream;base64,"}
    return {"type": "file", "file": file}


def _as_call(id: Any, name: Any, given: Any) -> Entry:
    return {"id": id or "", "type": "function", "function": {"name": name or "", "arguments": arguments(given)}}


def _applied(messages: Sequence[ChatMessage], decisions: Optional[List[Decision]]) -> List[ChatMessage]:
    if decisions is None:
        return list(messages)
    from llama_index.core.base.llms.types import ChatMessage

    return [
        ChatMessage(role="user", content=text_of(shown or {})) if at < 0 else _shown(messages[at], shown)
        for at, shown in decisions
    ]


def _shown(message: Any, entry: Optional[Entry]) -> Any:
    """A copy of a result with the text that is shown, or of an answer with its arguments; any other
    message stays. The images and files of a result stay."""
    if entry is None:
        return message
    if entry["role"] == "tool":
        texts = [block for block in message.blocks if block.block_type == "text"]
        media = [block for block in message.blocks if block.block_type in _MEDIA]
        if not texts:
            return message
        return message.model_copy(update={"blocks": [texts[0].model_copy(update={"text": text_of(entry)}), *media]})
    if entry["role"] != "assistant":
        return message
    sent = {call["id"]: call["function"]["arguments"] for call in entry.get("tool_calls") or ()}
    blocks = [_used(block, sent) if block.block_type == "tool_call" else block for block in message.blocks]
    kwargs: Dict[str, Any] = message.additional_kwargs
    if sent and kwargs.get("tool_calls"):
        kwargs = {**kwargs, "tool_calls": [_raw(call, sent) for call in kwargs["tool_calls"]]}
    return message.model_copy(update={"blocks": blocks, "additional_kwargs": kwargs})


def _used(block: Any, sent: Dict[str, str]) -> Any:
    shown = sent.get(block.tool_call_id or "")
    if shown is None or shown == arguments(block.tool_kwargs):
        return block
    return block.model_copy(update={"tool_kwargs": shown if isinstance(block.tool_kwargs, str) else json.loads(shown)})


def _raw(call: Any, sent: Dict[str, str]) -> Any:
    """A call as OpenAI's library or its JSON has it."""
    if isinstance(call, dict):
        function = call.get("function")
        if not function or call.get("id") not in sent:
            return call
        return {**call, "function": {**function, "arguments": sent[call["id"]]}}
    if getattr(call, "function", None) is None or call.id not in sent:
        return call
    return call.model_copy(update={"function": call.function.model_copy(update={"arguments": sent[call.id]})})
