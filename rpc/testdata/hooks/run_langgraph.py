import json

from hooked import BASE, MODEL, PROMPTS, SYSTEM, check_chat, read, report
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from winnow_langchain import PreModelHook


def main():
    hook = PreModelHook(f"openai/{MODEL}", besides=1000)
    model = ChatOpenAI(model=MODEL, base_url=BASE)
    agent = create_react_agent(model, [read], prompt=SYSTEM, pre_model_hook=hook)
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
