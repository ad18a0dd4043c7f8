"""A hook for the OpenAI Agents SDK (openai-agents): old results of tools are pruned, and the past is
folded into a summary, before each request. Sessions and results keep the originals.

    from agents import RunConfig, Runner
    from winnow_openai_agents import PrunedInput

    await Runner.run(agent, prompt, run_config=RunConfig(call_model_input_filter=PrunedInput()))

Use one PrunedInput for the whole program: it runs one engine. Do not combine it with a conversation
that the server keeps (conversation_id, previous_response_id): there the input has new items alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, cast

from winnow_prune import Entry, Pruner, tokens

if TYPE_CHECKING:
    from agents import Agent, TResponseInputItem
    from agents.run import CallModelData, ModelInputData

    from winnow import Winnow

__all__ = ["PrunedInput"]


class PrunedInput:
    """A call_model_input_filter. model is "provider/id", by default that of the agent; keep never
    folds; winnow is a client that the program has already."""

    def __init__(self, model: Optional[str] = None, *, keep: bool = False, winnow: Optional[Winnow] = None):
        self.pruner = Pruner(model, keep=keep, winnow=winnow)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        said = data.model_data
        items: List[TResponseInputItem] = said.input
        tools = [[tool.name, getattr(tool, "params_json_schema", "")] for tool in data.agent.tools]
        decisions = await self.pruner.decide_async(
            cast("List[Entry]", items), model=_model(data.agent), besides=tokens(said.instructions, tools)
        )
        if decisions is None:
            return said
        sent = [
            cast("TResponseInputItem", shown) if shown and (at < 0 or "call_id" in shown) else items[at]
            for at, shown in decisions
        ]
        return type(said)(input=sent, instructions=said.instructions)


def _model(agent: Agent[Any]) -> Optional[str]:
    """The model of an agent as "provider/id". The SDK's own prefixes are no providers."""
    from agents.models import get_default_model

    model = agent.model or get_default_model()
    name = model if isinstance(model, str) else getattr(model, "model", None)
    if not isinstance(name, str):
        return None
    for prefix in ("litellm/", "any-llm/"):
        name = name.removeprefix(prefix)
    return name if "/" in name else "openai/" + name
