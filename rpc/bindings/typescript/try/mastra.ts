// An agent of Mastra whose requests Winnow prunes.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { pruneProcessor } from "../mastra.ts";
import { baseURL, descriptions, done, dot, look, model as id, options, prompts, protocol, read, system } from "./tools.ts";
import { winnow, write } from "./tools.ts";

// Mastra's own types of the AI SDK's models are stricter than those of the newest providers.
const model = (protocol !== "anthropic"
  ? createOpenAICompatible({ name: "openai", baseURL: `${baseURL}/v1`, apiKey: "any" })(id)
  : createAnthropic({ baseURL: `${baseURL}/v1`, apiKey: "any" })(id)) as unknown as MastraModelConfig;

const tools = {
  read: createTool({
    id: "read", description: descriptions.read, inputSchema: z.object({ path: z.string() }), execute: read,
  }),
  write: createTool({
    id: "write",
    description: descriptions.write,
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    execute: write,
  }),
  look: createTool({
    id: "look",
    description: descriptions.look,
    inputSchema: z.object({ page: z.string() }),
    execute: async (input: { page: string }) => look(input),
    toModelOutput: (output: unknown) => {
      const [above, below] = output as [string, string];
      const image = { type: "media", mediaType: "image/png", data: dot };
      return { type: "content", value: [{ type: "text", text: above }, image, { type: "text", text: below }] };
    },
  }),
};

const inputProcessors = [pruneProcessor(winnow, options)];
const agent = new Agent({ id: "worker", name: "worker", instructions: system, model, tools, inputProcessors });
const limits = { maxSteps: 1000, modelSettings: { maxOutputTokens: 4000, maxRetries: 0 } };
let messages: Parameters<typeof agent.generate>[0] = [];
for (const prompt of prompts) {
  messages = [...(messages as object[]), { role: "user", content: prompt }] as typeof messages;
  const result = await agent.generate(messages, limits);
  messages = result.messages as unknown as typeof messages; // all of them, as Mastra stores them
}
await done(messages);
