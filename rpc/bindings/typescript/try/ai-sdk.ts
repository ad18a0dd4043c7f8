// Agents of the AI SDK whose requests Winnow prunes: generateText with openai-compatible, streamText and
// ToolLoopAgent with Anthropic.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ToolLoopAgent, generateText, isStepCount, streamText, tool } from "ai";
import type { ModelMessage } from "ai";
import { z } from "zod";
import { pruneStep } from "../ai-sdk.ts";
import { baseURL, descriptions, done, dot, look, model as id, options, prompts, protocol, read, system } from "./tools.ts";
import { winnow, write } from "./tools.ts";

const model = protocol !== "anthropic"
  ? createOpenAICompatible({ name: "openai", baseURL: `${baseURL}/v1`, apiKey: "any" })(id)
  : createAnthropic({ baseURL: `${baseURL}/v1`, apiKey: "any" })(id);

const tools = {
  read: tool({ description: descriptions.read, inputSchema: z.object({ path: z.string() }), execute: read }),
  write: tool({
    description: descriptions.write, inputSchema: z.object({ path: z.string(), content: z.string() }), execute: write,
  }),
  look: tool({
    description: descriptions.look,
    inputSchema: z.object({ page: z.string() }),
    execute: look,
    toModelOutput: ({ output: [above, below] }) => ({
      type: "content",
      value: [
        { type: "text", text: above },
        { type: "file", mediaType: "image/png", data: { type: "data", data: dot } },
        { type: "text", text: below },
      ],
    }),
  }),
};

const limits = { stopWhen: isStepCount(1000), maxOutputTokens: 4000, maxRetries: 0 };
const common = { model, tools, instructions: system, ...limits };
const prepareStep = pruneStep(winnow, options);
const messages: ModelMessage[] = [];
for (const [turn, prompt] of prompts.entries()) {
  messages.push({ role: "user", content: prompt });
  if (protocol !== "anthropic") {
    messages.push(...(await generateText({ ...common, messages, prepareStep })).responseMessages);
  } else if (turn === 0) {
    const result = streamText({ ...common, messages, prepareStep });
    await result.consumeStream({ onError: options.onError });
    messages.push(...(await result.responseMessages));
  } else {
    const agent = new ToolLoopAgent({ ...common, prepareStep });
    messages.push(...(await agent.generate({ messages })).responseMessages);
  }
}
await done(messages);
