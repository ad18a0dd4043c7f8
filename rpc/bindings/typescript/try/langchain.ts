// An agent of LangChain.js whose requests Winnow prunes.

import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { ToolMessage, createAgent, createMiddleware, tool } from "langchain";
import type { BaseMessage } from "langchain";
import { z } from "zod";
import { pruneModelCall } from "../langchain.ts";
import { baseURL, descriptions, done, dot, look, model as id, options, prompts, protocol, read, system } from "./tools.ts";
import { winnow, write } from "./tools.ts";

const model = protocol !== "anthropic"
  ? new ChatOpenAI({ model: id, apiKey: "any", maxRetries: 0, configuration: { baseURL: `${baseURL}/v1` } })
  : new ChatAnthropic({ model: id, apiKey: "any", maxRetries: 0, maxTokens: 4000, anthropicApiUrl: baseURL });

const tools = [
  tool(read, { name: "read", description: descriptions.read, schema: z.object({ path: z.string() }) }),
  tool(write, {
    name: "write", description: descriptions.write, schema: z.object({ path: z.string(), content: z.string() }),
  }),
  tool((input: { page: string }) => {
    const [above, below] = look(input);
    return [
      { type: "text", text: above },
      { type: "image_url", image_url: { url: `data:image/png;base64,${dot}` } },
      { type: "text", text: below },
    ];
  }, { name: "look", description: descriptions.look, schema: z.object({ page: z.string() }) }),
];

// An error of a tool is its result.
const errors = createMiddleware({
  name: "Errors",
  async wrapToolCall(request, handler) {
    try {
      return await handler(request);
    } catch (error) {
      const { id, name } = request.toolCall;
      return new ToolMessage({ content: String(error), tool_call_id: id!, name, status: "error" });
    }
  },
});

const middleware = [errors, createMiddleware(pruneModelCall(winnow, options))];
const agent = createAgent({ model, tools, systemPrompt: system, middleware });
let messages: BaseMessage[] = [];
for (const prompt of prompts) {
  const input = { messages: [...messages, { role: "user", content: prompt }] } as Parameters<typeof agent.invoke>[0];
  ({ messages } = await agent.invoke(input, { recursionLimit: 2000 }));
}
await done(messages.map((message) => message.toDict()));
