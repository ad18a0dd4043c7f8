"""A hook for LangChain (create_agent) and LangGraph (pre_model_hook): old results of tools are pruned,
and the past is folded into a summary, before each request. The state keeps the originals.

    from langchain.agents import create_agent
    from winnow_langchain import PruneMiddleware

    agent = create_agent("openai:gpt-5.2", tools, middleware=[PruneMiddleware()])

    from langgraph.prebuilt import create_react_agent
    from winnow_langchain import PreModelHook

    agent = create_react_agent(model, tools, pre_model_hook=PreModelHook("openai/gpt-5.2"))

Use one hook for the whole program: it runs one engine.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, List, Optional, Sequence, Union, cast

from winnow_prune import Decision, Entry, Pruner, arguments, text_of, tokens

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage

    from winnow import Winnow

    _Middleware = AgentMiddleware[Any, Any]
else:
    try:
        from langchain.agents.middleware import AgentMiddleware as _Middleware
    except ImportError:  # LangGraph alone, for PreModelHook
        _Middleware = object

__all__ = ["PreModelHook", "PruneMiddleware"]


class PruneMiddleware(_Middleware):
    """A middleware for create_agent. model is "provider/id", by default that of each request; keep
    never folds; winnow is a client that the program has already."""

    def __init__(self, model: Optional[str] = None, *, keep: bool = False, winnow: Optional[Winnow] = None):
        super().__init__()
        self.pruner = Pruner(model, keep=keep, winnow=winnow)

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> Union[ModelResponse, AIMessage]:
        messages = cast("List[BaseMessage]", request.messages)
        decisions = self.pruner.decide(_entries(messages), model=_model(request.model), besides=_besides(request))
        return handler(_pruned(request, messages, decisions))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> Union[ModelResponse, AIMessage]:
        messages = cast("List[BaseMessage]", request.messages)
        decisions = await self.pruner.decide_async(
            _entries(messages), model=_model(request.model), besides=_besides(request)
        )
        return await handler(_pruned(request, messages, decisions))


class PreModelHook:
    """A pre_model_hook for LangGraph's create_react_agent. The hook sees neither model nor tools:
    name the model, and give their size with the prompt's, in tokens, as besides."""

    def __init__(
        self, model: str, *, besides: int = 0, keep: bool = False, winnow: Optional[Winnow] = None
    ):
        self.pruner = Pruner(model, keep=keep, winnow=winnow)
        self.besides = besides

    def __call__(self, state: Any) -> Dict[str, Any]:
        messages: List[BaseMessage] = state["messages"] if isinstance(state, dict) else state.messages
        decisions = self.pruner.decide(_entries(messages), besides=self.besides)
        return {"llm_input_messages": _applied(messages, decisions)}


def _pruned(
    request: ModelRequest, messages: List[BaseMessage], decisions: Optional[List[Decision]]
) -> ModelRequest:
    return request.override(messages=cast(Any, _applied(messages, decisions))) if decisions else request


def _model(model: Any) -> Optional[str]:
    """The model of a request as "provider/id"."""
    known: Dict[str, Any] = model._get_ls_params() if hasattr(model, "_get_ls_params") else {}
    name = known.get("ls_model_name") or getattr(model, "model_name", None) or getattr(model, "model", None)
    provider = known.get("ls_provider")
    return f"{provider}/{name}" if name and provider else name


def _besides(request: Any) -> int:
    """The size of the system prompt and the tools, which are not among the messages."""
    prompt = getattr(request, "system_message", None) or getattr(request, "system_prompt", None)
    tools = [
        tool if isinstance(tool, dict) else [tool.name, tool.description, getattr(tool, "args", {})]
        for tool in request.tools or ()
    ]
    return tokens(str(getattr(prompt, "content", prompt) or ""), tools)


def _entries(messages: Sequence[BaseMessage]) -> List[Entry]:
    """One message for each, as OpenAI's Chat Completions has it."""
    return [_entry(message) for message in messages]


def _entry(message: Any) -> Entry:
    texts: List[str] = []
    parts: List[Entry] = []
    thoughts: List[str] = []
    for block in [message.content] if isinstance(message.content, str) else message.content:
        if isinstance(block, str) or block.get("type") in ("text", "input_text", "output_text"):
            texts.append(block if isinstance(block, str) else block.get("text", ""))
            parts.append({"type": "text", "text": texts[-1]})
        elif block.get("type") in ("thinking", "redacted_thinking", "reasoning", "reasoning_content"):
            thought = block.get("thinking") or block.get("reasoning") or block.get("summary")
            thoughts.append(str(thought or "[encrypted]"))
        elif _is_media(block):
            parts.append(_media(block))
        elif block.get("type") not in _CALLS:
            texts.append(arguments(block))
            parts.append({"type": "text", "text": texts[-1]})
    text = "\n\n".join(texts)
    if message.type == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if message.type == "system":
        return {"role": "system", "content": text}
    if message.type != "ai":
        return {"role": "user", "content": parts if any(p["type"] != "text" for p in parts) else text}
    kwargs: Dict[str, Any] = message.additional_kwargs
    if reasoning := kwargs.get("reasoning_content") or kwargs.get("reasoning"):  # the latter of OpenAI's Responses
        thoughts.append(reasoning if isinstance(reasoning, str) else "[encrypted]")
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments(call["args"])}}
        for call in message.tool_calls
    ] + [
        {"id": call["id"], "type": "function", "function": {"name": call["name"] or "", "arguments": "{}"}}
        for call in getattr(message, "invalid_tool_calls", ())
    ]
    entry: Entry = {"role": "assistant", "content": text or ("" if not calls else None)}
    if thoughts:
        entry["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        entry["tool_calls"] = calls
    return entry


# Blocks that repeat the calls of their message.
_CALLS = ("tool_use", "tool_call", "function_call", "invalid_tool_call", "tool_call_chunk", "input_json_delta")

_IMAGES = ("image", "image_url", "input_image", "image_generation_call")
_FILES = ("audio", "input_audio", "video", "video_url", "file", "input_file", "document", "media")


def _is_media(block: Any) -> bool:
    return isinstance(block, dict) and cast(Entry, block).get("type") in _IMAGES + _FILES


def _media(block: Entry) -> Entry:
    """A stand-in for an image or a file, which stays until its message is folded."""
    if block["type"] in _IMAGES:
        return {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    file = {"filename": str(block.get("filename") or "file"), "file_data": "data:application/octet-stream;base64,"}
    return {"type": "file", "file": file}


def _applied(messages: List[BaseMessage], decisions: Optional[List[Decision]]) -> List[BaseMessage]:
    if decisions is None:
        return messages
    from langchain_core.messages import HumanMessage

    return [
        HumanMessage(content=text_of(shown or {})) if at < 0 else _shown(messages[at], shown)
        for at, shown in decisions
    ]


def _shown(message: Any, entry: Optional[Entry]) -> Any:
    """A copy of a result with the text that is shown, or of an answer with its arguments; any other
    message stays. The images and files of a result stay."""
    if entry is None:
        return message
    if message.type == "tool":
        media = [block for block in message.content if _is_media(block)]
        text = text_of(entry)
        return message.model_copy(update={"content": [{"type": "text", "text": text}, *media] if media else text})
    if message.type != "ai":
        return message
    had = _arguments(_entry(message))
    sent = {id: shown for id, shown in _arguments(entry).items() if had.get(id) != shown}
    calls = [{**c, "args": json.loads(sent[c["id"]])} if c["id"] in sent else c for c in message.tool_calls]
    content = message.content
    if not isinstance(content, str):
        content = [_used(block, sent) if isinstance(block, dict) else block for block in content]
    kwargs = message.additional_kwargs
    if kwargs.get("tool_calls"):
        kwargs = {**kwargs, "tool_calls": [_raw(call, sent) for call in kwargs["tool_calls"]]}
    return message.model_copy(update={"tool_calls": calls, "content": content, "additional_kwargs": kwargs})


def _arguments(entry: Entry) -> Dict[str, str]:
    return {call["id"]: call["function"]["arguments"] for call in entry.get("tool_calls") or ()}


def _raw(call: Entry, sent: Dict[str, str]) -> Entry:
    """A call as the provider wrote it."""
    shown = sent.get(call.get("id", ""))
    return call if shown is None else {**call, "function": {**call["function"], "arguments": shown}}


def _used(block: Entry, sent: Dict[str, str]) -> Entry:
    """A block of content that repeats a call."""
    shown = sent.get(block.get("id", "")) or sent.get(block.get("call_id", ""))
    if shown is None:
        return block
    if block.get("type") == "tool_use":
        return {**block, "input": json.loads(shown)}
    if block.get("type") == "tool_call":
        return {**block, "args": json.loads(shown)}
    return {**block, "arguments": shown} if block.get("type") == "function_call" else block
