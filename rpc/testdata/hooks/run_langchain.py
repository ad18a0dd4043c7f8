import json

from hooked import BASE, MODEL, PROMPTS, SYSTEM, check_chat, read, report
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from winnow_langchain import PreModelHook, PruneMiddleware


def main(model, invoke):
    hook = PruneMiddleware()
    agent = create_agent(model, [read], system_prompt=SYSTEM, middleware=[hook])
    messages, unchanged = [], True
    for prompt in PROMPTS:
        had = list(messages)
        given = {"messages": [*messages, HumanMessage(prompt)]}
        messages = invoke(agent, given, {"recursion_limit": 1000})["messages"]
        unchanged = unchanged and len(messages) > len(had) and messages[: len(had)] == had
    kept = PreModelHook(f"openai/{MODEL}", keep=True)
    check_chat(messages, kept({"messages": messages})["llm_input_messages"])
    check(kept)
    kept.pruner.close()
    calls = {c["id"]: json.dumps(c["args"]) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    results = {m.tool_call_id: m.content for m in messages if isinstance(m, ToolMessage)}
    report(results, calls, unchanged)
    hook.pruner.close()


def hard():
    """A history with all that a hook must not lose."""
    image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    file = {"type": "file", "base64": "JVBERi0x" * 500, "mime_type": "application/pdf"}
    messages = [SystemMessage(SYSTEM), HumanMessage([{"type": "text", "text": "Look."}, image, file])]
    for n in range(60):
        path = {"path": f"a.go#{n % 9}", "turn": n}
        text = {"path": "b.go", "text": f"old {n % 3} " * 1000}
        blocks = [
            {"type": "thinking", "thinking": f"I think {n}.", "signature": "s"},
            {"type": "text", "text": f"Step {n}."},
            {"type": "tool_use", "id": f"read_{n}", "name": "read", "input": path},
            {"type": "tool_use", "id": f"write_{n}", "name": "write", "input": text},
        ]
        calls = [{"name": b["name"], "args": b["input"], "id": b["id"]} for b in blocks[2:]]
        bad = [{"name": "read", "args": '{"path": ', "id": f"bad_{n}", "error": "not JSON"}]
        messages += [
            AIMessage(blocks, tool_calls=calls, invalid_tool_calls=bad),
            ToolMessage([image, {"type": "text", "text": read(**path)}], tool_call_id=f"read_{n}", artifact=n),
            ToolMessage("done", tool_call_id=f"write_{n}"),
            ToolMessage("path is missing", tool_call_id=f"bad_{n}", status="error"),
            HumanMessage(f"Go on, {n}."),
        ]
    return messages


def check(hook):
    """Every message that is sent is one of the history, or that with less text; one is new."""
    messages = hard()
    before = repr(messages)
    for keep in (True, False):
        hook.pruner.keep = keep
        sent = hook({"messages": messages})["llm_input_messages"]
        new = [m for m in sent if "<conversation-summary>" in str(m.content)]
        assert [type(m) for m in new] == [HumanMessage] * (not keep) and "JVBERi0x" not in repr(new), new
        tail = sent[sent.index(new[0]) + 1 :] if new else sent
        changed = [(a, b) for a, b in zip(messages[-len(tail) :], tail, strict=True) if a is not b]
        kinds = {type(b) for _, b in changed}
        assert keep is False or len(sent) == len(messages) and kinds == {AIMessage, ToolMessage}, (len(sent), kinds)
        for a, b in changed:
            was, now = a.model_dump(), b.model_dump()
            stay = [block for block in a.content if block["type"] in ("thinking", "image")]
            text = [block for block in a.content if block["type"] == "text" and isinstance(a, AIMessage)]
            assert all(any(x is y for y in b.content) for x in stay + text), b
            assert len(repr(b)) < len(repr(a)) and {k for k in was if was[k] != now[k]} <= {"content", "tool_calls"}, b
            if isinstance(b, AIMessage):
                inputs = [block["input"] for block in b.content if block["type"] == "tool_use"]
                assert inputs == [call["args"] for call in b.tool_calls] and inputs[0] == a.tool_calls[0]["args"], b
    assert repr(messages) == before


if __name__ == "__main__":
    main(ChatOpenAI(model=MODEL, base_url=BASE), lambda agent, *given: agent.invoke(*given))
