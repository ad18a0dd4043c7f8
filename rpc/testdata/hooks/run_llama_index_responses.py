import asyncio

from hooked import BASE, MODEL
from llama_index.llms.openai import OpenAIResponses
from run_llama_index import main

asyncio.run(main(OpenAIResponses(MODEL, api_base=BASE, store=True)))
