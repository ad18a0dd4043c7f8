// Messages with every kind of part go through the hooks. The engine is a fake that leaves out results,
// an input and the past. All other parts must come back unchanged and in their places.

import assert from "node:assert/strict";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import type { ModelMessage } from "ai";
import { pruneStep } from "../ai-sdk.ts";
import { prune, promptTranslation } from "../hooks.ts";
import type { ChatMessage } from "../hooks.ts";
import { pruneModelCall } from "../langchain.ts";
import { WinnowError } from "../winnow.ts";
import type { PruneMessages, PrunedMessages, Winnow } from "../winnow.ts";

type Decide = (messages: ChatMessage[]) => (ChatMessage | number)[];

/** An engine that decides as it is told: a number is a message that stays. */
function engine(decide: Decide): Winnow {
  return {
    async pruneMessages({ messages }: PruneMessages): Promise<PrunedMessages> {
      const out = decide(messages as ChatMessage[]);
      const sent = { before: 2, after: 1, leftOut: [], folded: 0, summary: "" };
      return {
        messages: out.map((message) => (typeof message === "number" ? messages[message] : message)),
        from: out.map((message) => (typeof message === "number" ? message : -1)),
        sent,
      };
    },
  } as unknown as Winnow;
}

const all: Decide = (messages) => messages.map((_, i) => i);
const failing = { onError: (error: unknown) => assert.fail(String(error)) };

/** Shows something else of the results and the inputs of these calls. */
function leavesOut(...ids: string[]): Decide {
  return (messages) => messages.map((message, i) => {
    if (message.role === "tool") assert.equal(typeof message.content, "string", "images and files of results stay");
    if (ids.includes(message.tool_call_id!)) return { ...message, content: `[${message.tool_call_id} left out]` };
    if (!message.tool_calls?.some((call) => ids.includes(`${call.id} input`))) return i;
    const calls = message.tool_calls.map((call) => (ids.includes(`${call.id} input`)
      ? { ...call, function: { ...call.function, arguments: '{"text":"[left out]"}' } } : call));
    return { ...message, tool_calls: calls };
  });
}

/** Folds all but the last messages of the chat. */
function folds(keep: number): Decide {
  return (messages) => {
    const system = messages.flatMap((message, i) => (message.role === "system" ? [i] : []));
    const tail = messages.map((_, i) => i).slice(-keep);
    return [...system, { role: "user", content: "<summary>" }, ...tail];
  };
}

const signed = { anthropic: { signature: "abc" } };
const cached = { anthropic: { cacheControl: { type: "ephemeral" } } };
const image = { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBO" } } as const;
const conversation: ModelMessage[] = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "Look." },
      image,
      { type: "text", text: "And here." },
      { type: "file", mediaType: "application/pdf", data: "JVBE", filename: "a.pdf" },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm.", providerOptions: signed },
      { type: "text", text: "I look." },
      { type: "tool-call", toolCallId: "a", toolName: "write", input: { text: "long" }, providerOptions: cached },
      { type: "reasoning", text: "", providerOptions: signed },
      { type: "tool-call", toolCallId: "b", toolName: "look", input: {} },
      { type: "tool-call", toolCallId: "c", toolName: "fail", input: {} },
      { type: "tool-call", toolCallId: "d", toolName: "table", input: {} },
      { type: "tool-call", toolCallId: "e", toolName: "remove", input: {} },
      { type: "tool-approval-request", approvalId: "1", toolCallId: "e" },
    ],
    providerOptions: cached,
  },
  { role: "tool", content: [{ type: "tool-approval-response", approvalId: "1", approved: false, reason: "no" }] },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "a",
        toolName: "write",
        output: { type: "text", value: "done", providerOptions: cached },
        providerOptions: cached,
      },
      {
        type: "tool-result",
        toolCallId: "b",
        toolName: "look",
        output: {
          type: "content", value: [{ type: "text", text: "above" }, image, { type: "text", text: "below" }, image],
        },
      },
      { type: "tool-result", toolCallId: "c", toolName: "fail", output: { type: "error-json", value: { code: 1 } } },
      { type: "tool-result", toolCallId: "d", toolName: "table", output: { type: "json", value: { rows: [1, 2] } } },
      { type: "tool-result", toolCallId: "e", toolName: "remove", output: { type: "execution-denied", reason: "no" } },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "tool-call", toolCallId: "s", toolName: "search", input: { q: "x" }, providerExecuted: true },
      { type: "tool-result", toolCallId: "s", toolName: "search", output: { type: "json", value: [{ url: "u" }] } },
      { type: "text", text: "Found." },
      { type: "custom", kind: "openai.compaction" },
    ],
  },
  { role: "user", content: "Go on." },
  { role: "assistant", content: "Yes." },
];

async function ofTheAISDK(decide: Decide): Promise<ModelMessage[]> {
  const before = structuredClone(conversation);
  const messages = [...conversation];
  const step = { messages, initialMessages: messages, model: "anthropic/claude-sonnet-4-5", instructions: "You help." };
  const { messages: sent } = await pruneStep(engine(decide), failing)(step);
  assert.deepEqual(conversation, before, "the history was changed");
  return sent;
}

// Nothing is decided: all messages are the same objects.
(await ofTheAISDK(all)).forEach((message, i) => assert.equal(message, conversation[i]));

// Results and an input are left out: only their texts change.
const less = await ofTheAISDK(leavesOut("a", "b", "c", "d", "e", "a input"));
const want = structuredClone(conversation) as unknown as { content: Record<string, any>[] }[];
want[2]!.content[2]!["input"] = { text: "[left out]" };
want[4]!.content[0]!["output"].value = "[a left out]";
want[4]!.content[1]!["output"].value = [{ type: "text", text: "[b left out]" }, image, image];
want[4]!.content[2]!["output"] = { type: "error-text", value: "[c left out]" };
want[4]!.content[3]!["output"] = { type: "text", value: "[d left out]" };
assert.deepEqual(less, want);
[0, 1, 3, 5, 6, 7].forEach((i) => assert.equal(less[i], conversation[i]));
const parts = (messages: ModelMessage[], at: number) => messages[at]!.content as object[];
[0, 1, 3, 4, 5, 6, 7, 8].forEach((i) => assert.equal(parts(less, 2)[i], parts(conversation, 2)[i]));
assert.equal(parts(less, 4)[4], parts(conversation, 4)[4], "a denial stays");

// The past is folded: instructions stay, and what follows is the same.
const summary = { role: "user", content: [{ type: "text", text: "<summary>" }] };
assert.deepEqual(await ofTheAISDK(folds(3)), [conversation[0], summary, ...conversation.slice(5)]);
// The approval stays with its call.
assert.deepEqual((await ofTheAISDK(folds(9))).slice(2), conversation.slice(2));

// The next step of the AI SDK goes on with the messages that were sent: Winnow decides on the whole ones.
{
  const given: number[] = [];
  const hook = pruneStep(engine((messages) => (given.push(messages.length), folds(1)(messages))), failing);
  const initialMessages = [...conversation];
  const step = { initialMessages, model: "m", instructions: undefined };
  const { messages } = await hook({ ...step, messages: initialMessages });
  await hook({ ...step, messages: [...messages, { role: "user", content: "More." }] });
  assert.equal(given[1], given[0]! + 1);
}

// A call without a result and a result without a call do not go to the engine, and stay.
{
  const odd: ModelMessage[] = [
    { role: "user", content: "a" },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "x", toolName: "t", output: { type: "text", value: "lost" } }],
    },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "y", toolName: "t", input: {} }] },
  ];
  const sent = await prune(engine((messages) => {
    assert.deepEqual(messages.map((m) => [m.role, m.tool_calls]), [["user", undefined], ["assistant", undefined]]);
    return all(messages);
  }), odd, promptTranslation<ModelMessage>(), "", failing);
  assert.equal(sent, odd);
}

// An engine that fails stops nobody.
{
  const errors: unknown[] = [];
  const gone = new WinnowError({ code: -32003, message: "gone", data: { code: "gone" } });
  const failed = { pruneMessages: () => Promise.reject(gone) } as unknown as Winnow;
  const step = { messages: conversation, initialMessages: conversation, model: "m", instructions: undefined };
  const { messages } = await pruneStep(failed, { onError: (error) => errors.push(error) })(step);
  assert.equal(messages, conversation);
  assert.equal(errors.length, 1);
}

// The same of LangChain's messages.
const blocks = [
  { type: "text", text: "above" },
  { type: "image_url", image_url: { url: "data:image/png;base64,iVBO" } },
  { type: "text", text: "below" },
];
const state: BaseMessage[] = [
  new SystemMessage("Be brief."),
  new HumanMessage({ content: blocks, id: "h1" }),
  new AIMessage({
    content: [
      { type: "thinking", thinking: "Hm.", signature: "abc" },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "a", name: "write", input: { text: "long" } },
      { type: "tool_use", id: "b", name: "look", input: {} },
    ],
    tool_calls: [
      { id: "a", name: "write", args: { text: "long" }, type: "tool_call" },
      { id: "b", name: "look", args: {}, type: "tool_call" },
    ],
    additional_kwargs: {
      tool_calls: [{ id: "a", type: "function", function: { name: "write", arguments: '{"text":"long"}' } }],
    },
    response_metadata: { model: "m" },
    id: "a1",
  }),
  new ToolMessage({ content: "done", tool_call_id: "a", name: "write", status: "error", artifact: { raw: 1 }, id: "t1" }),
  new ToolMessage({ content: blocks, tool_call_id: "b", name: "look", id: "t2" }),
  new HumanMessage("Go on."),
  new AIMessage("Yes."),
];

async function ofLangChain(decide: Decide): Promise<BaseMessage[]> {
  const before = JSON.stringify(state);
  const call = { messages: state, model: { model: "m" }, systemMessage: new SystemMessage("You help.") };
  const sent = await pruneModelCall(engine(decide), failing).wrapModelCall(call, ({ messages }) => messages);
  assert.equal(JSON.stringify(state), before, "the state was changed");
  return sent;
}

(await ofLangChain(all)).forEach((message, i) => assert.equal(message, state[i]));
{
  const sent = await ofLangChain(leavesOut("a", "b", "a input"));
  [0, 1, 5, 6].forEach((i) => assert.equal(sent[i], state[i]));
  const [answer, first, second] = sent.slice(2) as [AIMessage, ToolMessage, ToolMessage];
  const was = state[2] as AIMessage;
  assert.ok(answer instanceof AIMessage && first instanceof ToolMessage);
  assert.deepEqual(answer.tool_calls!.map((c) => c.args), [{ text: "[left out]" }, {}]);
  const block = { type: "tool_use", id: "a", name: "write", input: { text: "[left out]" } };
  assert.deepEqual((answer.content as object[])[2], block);
  [0, 1, 3].forEach((i) => assert.equal(answer.content[i], was.content[i]));
  assert.equal(answer.additional_kwargs.tool_calls![0]!.function.arguments, '{"text":"[left out]"}');
  assert.deepEqual([answer.id, answer.response_metadata], ["a1", { model: "m" }]);
  const { content, status, artifact, id, tool_call_id, name } = first;
  const want = { content: "[a left out]", status: "error", artifact: { raw: 1 }, id: "t1", tool_call_id: "a", name: "write" };
  assert.deepEqual({ content, status, artifact, id, tool_call_id, name }, want);
  assert.deepEqual(second.content, [{ type: "text", text: "[b left out]" }, blocks[1]]);
}
{
  const [system, summary, ...tail] = await ofLangChain(folds(2));
  assert.equal(system, state[0]);
  assert.ok(summary instanceof HumanMessage && summary.text === "<summary>");
  assert.deepEqual(tail, state.slice(5));
}
