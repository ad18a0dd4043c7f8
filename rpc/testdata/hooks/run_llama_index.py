import asyncio

from hooked import BASE, MODEL, PROMPTS, SYSTEM, check_chat, read, report
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai import OpenAI
from winnow_llama_index import pruned, pruned_messages
from winnow_prune import Pruner


def hard():
    """A history with all that a hook must not lose."""
    image = ImageBlock(image=b"\x89PNG\r\n\x1a\n", image_mimetype="image/png")
    file = DocumentBlock(data=b"%PDF-1.7 " * 500, title="a.pdf", document_mimetype="application/pdf")
    messages = [ChatMessage(role="system", content=SYSTEM)]
    messages.append(ChatMessage(role="user", blocks=[TextBlock(text="Look."), image, file]))
    for n in range(60):
        path = {"path": f"a.go#{n % 9}", "turn": n}
        text = {"path": "b.go", "text": f"old {n % 3} " * 1000}
        blocks = [
            ThinkingBlock(content=f"I think {n}."),
            TextBlock(text=f"Step {n}."),
            ToolCallBlock(tool_call_id=f"read_{n}", tool_name="read", tool_kwargs=path),
            ToolCallBlock(tool_call_id=f"write_{n}", tool_name="write", tool_kwargs=text),
        ]
        result = [image, TextBlock(text=read(**path))]
        messages += [
            ChatMessage(role="assistant", blocks=blocks),
            ChatMessage(role="tool", blocks=result, additional_kwargs={"tool_call_id": f"read_{n}"}),
            ChatMessage(role="tool", content="done", additional_kwargs={"tool_call_id": f"write_{n}"}),
            ChatMessage(role="user", content=f"Go on, {n}."),
        ]
    return messages


def check(pruner):
    """Every message that is sent is one of the history, or that with less text; one is new."""
    messages = hard()
    before = repr(messages)
    for keep in (True, False):
        pruner.keep = keep
        sent = pruned_messages(pruner, messages)
        new = [m for m in sent if "<conversation-summary>" in str(m.content)]
        assert [m.role for m in new] == ["user"] * (not keep) and "JVBERi0x" not in repr(new), new
        tail = sent[sent.index(new[0]) + 1 :] if new else sent
        changed = [(a, b) for a, b in zip(messages[-len(tail) :], tail, strict=True) if a is not b]
        roles = {b.role for _, b in changed}
        assert keep is False or len(sent) == len(messages) and roles == {"assistant", "tool"}, (len(sent), roles)
        for a, b in changed:
            stay = [x for x in a.blocks if x.block_type != "text" and getattr(x, "tool_name", None) != "write"]
            assert all(any(x is y for y in b.blocks) for x in stay) and len(a.blocks) == len(b.blocks), b
            assert a.role == b.role and a.additional_kwargs == b.additional_kwargs and len(repr(b)) < len(repr(a)), b
            assert a.role == "tool" or a.content == b.content, b
    assert repr(messages) == before


async def main(llm):
    llm = pruned(llm, f"openai/{MODEL}")
    agent = FunctionAgent(name="reader", description="Reads.", tools=[read], llm=llm, system_prompt=SYSTEM)
    memory, unchanged = ChatMemoryBuffer.from_defaults(token_limit=10**9), True
    for prompt in PROMPTS:
        had = list(memory.get_all())
        await agent.run(prompt, memory=memory, max_iterations=1000)
        now = memory.get_all()
        unchanged = unchanged and len(now) > len(had) and now[: len(had)] == had
    messages = memory.get_all()
    pruner = Pruner(f"openai/{MODEL}", keep=True)
    check_chat(messages, pruned_messages(pruner, messages))
    check(pruner)
    pruner.close()
    calls, results = {}, {}
    for message in messages:
        kwargs = message.additional_kwargs
        for block in message.blocks:
            if block.block_type == "tool_call":
                calls[block.tool_call_id] = block.tool_kwargs
        for call in kwargs.get("tool_calls") or ():
            held = call if isinstance(call, dict) else call.model_dump()
            calls[held["id"]] = held["function"]["arguments"]
        if message.role == "tool":
            results[kwargs["tool_call_id"]] = message.content
    report(results, calls, unchanged)


if __name__ == "__main__":
    asyncio.run(main(OpenAI(MODEL, api_base=BASE)))
