import asyncio
from dataclasses import replace

from hooked import MODEL, PROMPTS, SYSTEM, read, report
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.usage import UsageLimits
from winnow_pydantic_ai import PrunedHistory


def hard(hook):
    """A history with all that a hook must not lose."""
    pixel = BinaryContent(data=b"\x89PNG\r\n\x1a\n", media_type="image/png")
    messages = [ModelRequest(parts=[UserPromptPart(content=["Look.", pixel])], instructions="Be brief.")]
    for n in range(60):
        thought = ThinkingPart(content=f"I think {n}.", id="reasoning_content", signature="s")
        call = ToolCallPart("read", {"path": f"a.go#{n % 9}", "turn": n}, tool_call_id="call_again")
        bad = ToolCallPart("read", {"path": 1}, tool_call_id=f"bad_{n}")
        result = ToolReturnPart("read", read(f"a.go#{n % 9}", n), tool_call_id="call_again")
        retry = RetryPromptPart("path must be text", tool_name="read", tool_call_id=f"bad_{n}")
        said = UserPromptPart(content=f"Go on, {n}.")
        messages.append(ModelResponse(parts=[thought, TextPart(f"Step {n}."), call, bad]))
        messages.append(ModelRequest(parts=[result, retry, said], instructions="Be brief."))
    return messages


async def check(hook):
    """Every message that is sent is one of the history, or that with shorter results; one is new."""
    messages = hard(hook)
    before = repr(messages)
    for keep in (True, False):
        hook.pruner.keep = keep
        sent = await hook.prune(messages, model=f"openai/{MODEL}")
        at, new, shorter, same = 0, 0, 0, 0
        for message in sent:
            if at < len(messages) and isinstance(message, ModelRequest) and "<conversation-summary>" in repr(message):
                new += 1
                at = len(messages) - (len(sent) - sent.index(message) - 1)
                continue
            original, at = messages[at], at + 1
            if message is original:
                same += 1
                continue
            assert type(message) is type(original), message
            cut = len(original.parts) - len(message.parts)  # of the message in which the summary ends
            assert cut == 0 or new == 1 and message is sent[1], message
            for a, b in zip(original.parts[cut:], message.parts, strict=True):
                if isinstance(b, ToolReturnPart) and b is not a:
                    assert len(b.content) < len(a.content) and replace(b, content=a.content) == a, b
                    shorter += 1
                else:
                    assert a is b, (a, b)
            assert replace(message, parts=original.parts) == original, message
        assert at == len(messages) and same and (shorter if keep else new == 1), (at, new, shorter, same)
        assert not keep or len(sent) == len(messages) and new == 0, (len(sent), new)
    assert repr(messages) == before
    hook.pruner.keep = False


async def main():
    hook = PrunedHistory()
    agent = Agent(OpenAIChatModel(MODEL), instructions=SYSTEM, capabilities=[hook])
    agent.tool_plain(read)
    messages, unchanged = [], True
    for prompt in PROMPTS:
        had = list(messages)
        result = await agent.run(
            prompt, message_history=messages, usage_limits=UsageLimits(request_limit=None)
        )
        messages = result.all_messages()
        unchanged = unchanged and len(messages) > len(had) and messages[: len(had)] == had
    await check(hook)
    parts = [part for message in messages for part in message.parts]
    calls = {p.tool_call_id: p.args for p in parts if isinstance(p, ToolCallPart)}
    results = {p.tool_call_id: p.content for p in parts if isinstance(p, ToolReturnPart)}
    report(results, calls, unchanged)
    hook.pruner.close()


asyncio.run(main())
