import asyncio

from hooked import BASE, MODEL, PROMPTS, SYSTEM, check_chat, read, report
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai import OpenAI
from winnow_llama_index import pruned, pruned_messages
from winnow_prune import Pruner


async def main():
    llm = pruned(OpenAI(MODEL, api_base=BASE), f"openai/{MODEL}")
    agent = FunctionAgent(name="reader", description="Reads.", tools=[read], llm=llm, system_prompt=SYSTEM)
    memory, unchanged = ChatMemoryBuffer.from_defaults(token_limit=10**9), True
    for prompt in PROMPTS:
        had = list(memory.get_all())
        await agent.run(prompt, memory=memory, max_iterations=1000)
        now = memory.get_all()
        unchanged = unchanged and len(now) > len(had) and now[: len(had)] == had
    messages = memory.get_all()
    check_chat(messages, pruned_messages(Pruner(f"openai/{MODEL}", keep=True), messages))
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


asyncio.run(main())
