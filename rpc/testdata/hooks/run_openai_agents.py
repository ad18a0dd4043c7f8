import asyncio
import copy

from agents import Agent, ModelSettings, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.run import CallModelData, ModelInputData
from hooked import MODEL, PROMPTS, SYSTEM, read, report
from winnow_openai_agents import PrunedInput

set_tracing_disabled(True)


async def check(hook, agent, items):
    """Items that stay are the very same objects; a changed result differs in its output alone."""
    before = copy.deepcopy(items)
    hook.pruner.keep = True
    data = CallModelData(ModelInputData(input=list(items), instructions=SYSTEM), agent, None)
    sent = (await hook(data)).input
    changed = [(a, b) for a, b in zip(items, sent, strict=True) if a is not b]
    assert changed and len(changed) < len(items) / 2, (len(changed), len(items))
    for a, b in changed:
        assert a["type"] == "function_call_output" and {**b, "output": a["output"]} == a, b
    assert items == before
    hook.pruner.keep = False


async def main():
    hook = PrunedInput()
    agent = Agent(
        "reader",
        instructions=SYSTEM,
        model=MODEL,
        tools=[function_tool(read)],
        model_settings=ModelSettings(store=False, response_include=["reasoning.encrypted_content"]),
    )
    session, unchanged = SQLiteSession("reader"), True
    for prompt in PROMPTS:
        had = await session.get_items()
        await Runner.run(
            agent, prompt, session=session, max_turns=200, run_config=RunConfig(call_model_input_filter=hook)
        )
        now = await session.get_items()
        unchanged = unchanged and len(now) > len(had) and now[: len(had)] == had
    items = await session.get_items()
    await check(hook, agent, items)
    calls = {i["call_id"]: i["arguments"] for i in items if i.get("type") == "function_call"}
    results = {i["call_id"]: i["output"] for i in items if i.get("type") == "function_call_output"}
    report(results, calls, unchanged)
    hook.pruner.close()


asyncio.run(main())
