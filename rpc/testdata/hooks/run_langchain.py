import json

from hooked import BASE, MODEL, PROMPTS, SYSTEM, check_chat, read, report
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from winnow_langchain import PreModelHook, PruneMiddleware


def main():
    hook = PruneMiddleware()
    model = ChatOpenAI(model=MODEL, base_url=BASE)
    agent = create_agent(model, [read], system_prompt=SYSTEM, middleware=[hook])
    messages, unchanged = [], True
    for prompt in PROMPTS:
        had = list(messages)
        given = {"messages": [*messages, HumanMessage(prompt)]}
        messages = agent.invoke(given, {"recursion_limit": 1000})["messages"]
        unchanged = unchanged and len(messages) > len(had) and messages[: len(had)] == had
    kept = PreModelHook(f"openai/{MODEL}", keep=True)
    check_chat(messages, kept({"messages": messages})["llm_input_messages"])
    kept.pruner.close()
    calls = {c["id"]: json.dumps(c["args"]) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    results = {m.tool_call_id: m.content for m in messages if isinstance(m, ToolMessage)}
    report(results, calls, unchanged)
    hook.pruner.close()


main()
