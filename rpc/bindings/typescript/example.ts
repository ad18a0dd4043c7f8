// A loop of its own around winnow: an agent that reads files, on Anthropic's Messages API.
//
//   ANTHROPIC_API_KEY=… node example.ts "What does this program do?"
//
// ANTHROPIC_BASE_URL and MODEL choose another server and model, WINNOW another winnow.

import { readFile } from "node:fs/promises";
import { Winnow } from "./winnow.ts";
import type { Summarize, Summary } from "./winnow.ts";

const BASE = process.env.ANTHROPIC_BASE_URL ?? "https://api.anthropic.com";
const MODEL = process.env.MODEL ?? "claude-sonnet-4-5";
const SYSTEM = "You answer questions about the files of the current folder.";
const TOOLS = [
  {
    name: "read",
    description: "Reads a file.",
    input_schema: { type: "object", properties: { filePath: { type: "string" } }, required: ["filePath"] },
  },
];

interface Block {
  type: string;
  text?: string;
  id?: string;
  input?: { filePath?: string };
}

interface Answer {
  content: Block[];
  stop_reason: string;
  usage: unknown;
}

/** How the provider refused a request; winnow is told status, code and message. */
class ProviderError extends Error {
  status: number;
  code: string;

  constructor(status: number, body: string) {
    let error: { message?: string; type?: string } = {};
    try {
      error = JSON.parse(body).error ?? {};
    } catch {
      // not JSON
    }
    super(error.message ?? body);
    this.status = status;
    this.code = error.type ?? "";
  }
}

/** Asks the model once. The last message is marked, so that the prompt is cached up to it. */
async function ask(system: string, messages: unknown[], tools: unknown[], maxTokens: number): Promise<Answer> {
  const last = messages.at(-1) as { content: unknown } | undefined;
  if (last && Array.isArray(last.content)) {
    const marked = { ...last.content.at(-1), cache_control: { type: "ephemeral" } };
    messages = [...messages.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), marked] }];
  }
  const response = await fetch(`${BASE}/v1/messages`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": process.env.ANTHROPIC_API_KEY ?? "",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify({ model: MODEL, max_tokens: maxTokens, system, messages, ...(tools.length > 0 ? { tools } : {}) }),
  });
  if (!response.ok) throw new ProviderError(response.status, await response.text());
  return (await response.json()) as Answer;
}

function textOf(answer: Answer): string {
  return answer.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Writes a summary with the same model: without tools, and never by itself. */
async function summarize(request: Summarize): Promise<Summary> {
  const answer = await ask(request.system, request.messages, [], request.maxOutput);
  const finish = answer.stop_reason === "max_tokens" ? "length" : "stop";
  return { text: textOf(answer), finish, usage: answer.usage };
}

async function runTool(call: Block): Promise<unknown> {
  const result = { type: "tool_result", tool_use_id: call.id };
  try {
    return { ...result, content: await readFile(call.input?.filePath ?? "", "utf8") };
  } catch (error) {
    return { ...result, content: String(error), is_error: true };
  }
}

/** Lets the model work until it calls no more tools, and returns what it says last. */
async function work(winnow: Winnow, session: string, prompt: string): Promise<string> {
  await winnow.append({ session, as: "anthropic", messages: [{ role: "user", content: prompt }] });
  for (;;) {
    await winnow.begin({ session });
    let answer: Answer;
    try {
      answer = await ask(SYSTEM, await winnow.messages(session, "anthropic"), TOOLS, 1024);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      // If it was too long, the past is folded and the request is made again; else this throws.
      const rejection = { status: error.status, code: error.code, message: error.message };
      await winnow.observe({ session, rejection });
      continue;
    }
    await winnow.append({ session, as: "anthropic", messages: [{ role: "assistant", content: answer.content }] });
    const calls = answer.content.filter((block) => block.type === "tool_use");
    if (calls.length > 0) {
      const results = await Promise.all(calls.map(runTool));
      await winnow.append({ session, as: "anthropic", messages: [{ role: "user", content: results }] });
    }
    const done = await winnow.observe({ session, as: "anthropic", usage: answer.usage });
    if (done.compact) await winnow.compact({ session, auto: true }); // compaction.auto is off
    if (calls.length === 0 && !done.continues) {
      await winnow.endTurn({ session });
      return textOf(answer);
    }
  }
}

const winnow = await Winnow.start({
  command: [process.env.WINNOW ?? "winnow", "engine", "--stdio"],
  summarize,
  summarizeAs: "anthropic",
});
try {
  const { session } = await winnow.create({ title: "An example", directory: process.cwd(), model: `anthropic/${MODEL}` });
  console.log(await work(winnow, session, process.argv.slice(2).join(" ")));
  console.error(`winnow inspect ${session}`);
} finally {
  await winnow.close();
}
