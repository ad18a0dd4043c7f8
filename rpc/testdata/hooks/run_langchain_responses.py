import asyncio

from hooked import BASE, MODEL
from langchain_openai import ChatOpenAI
from run_langchain import main

model = ChatOpenAI(
    model=MODEL, base_url=BASE, use_responses_api=True, store=False, include=["reasoning.encrypted_content"]
)
loop = asyncio.new_event_loop()
main(model, lambda agent, *given: loop.run_until_complete(agent.ainvoke(*given)))
