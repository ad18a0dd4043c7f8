// A hook for LangChain.js (npm: langchain), 1 and newer: a middleware. Winnow prunes the messages of
// each call of the model; the messages of the agent's state stay whole.
//
//   const winnow = await Winnow.start();
//   const agent = createAgent({ …, middleware: [createMiddleware(pruneModelCall(winnow))] });

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { argumentsOf, attachment, changedInputs, prune, resultOf, textOf, withResult, withTexts } from "./hooks.ts";
import type { ChatMessage, ChatPart, PruneOptions, Translation } from "./hooks.ts";
import type { Winnow } from "./winnow.ts";

export type { PruneOptions } from "./hooks.ts";

/** The fields of a request that the hook reads. It changes the messages. */
export interface ModelCall {
  messages: BaseMessage[];
  model: object;
  systemMessage?: { text: string };
}

/** The argument for createMiddleware. */
export interface PruneModelCall {
  name: string;
  wrapModelCall<C extends ModelCall, A>(call: C, next: (call: C) => A | Promise<A>): Promise<A>;
}

/** Returns the argument for createMiddleware. */
export function pruneModelCall(winnow: Winnow, options: PruneOptions = {}): PruneModelCall {
  return {
    name: "Winnow",
    async wrapModelCall(call, next) {
      const { messages, model, systemMessage } = call;
      const name = nameOf(model);
      const settings = name ? { model: name, ...options } : options;
      const sent = await prune(winnow, messages, translationOf(messages), systemMessage?.text ?? "", settings);
      return await next({ ...call, messages: sent });
    },
  };
}

/** Returns the name of a model, if it has one. */
function nameOf(model: object): string | undefined {
  const { _defaultConfig, modelProvider, _llmType, model: id, modelName } = model as {
    _defaultConfig?: object; modelProvider?: string; _llmType?: () => string; model?: string; modelName?: string;
  };
  if (_defaultConfig) return nameOf(_defaultConfig); // of initChatModel
  const provider = modelProvider ?? _llmType?.call(model);
  return id || modelName ? [provider, id || modelName].filter(Boolean).join("/") : undefined;
}

const roles: Record<string, string> = {
  human: "user", ai: "assistant", system: "system", developer: "system", tool: "tool",
};

/** A part of a message, in LangChain's form or a provider's. */
interface Block {
  type: string;
  text?: string;
  id?: string;
  [further: string]: unknown;
}

/** A new message gets the class of an existing one, so that this file imports only types. */
function translationOf(messages: BaseMessage[]): Translation<BaseMessage> {
  return {
    write,
    change,
    create(role, content) {
      const like = messages.find((message) => roles[message.getType()] === role);
      if (!like) return { role, content } as unknown as BaseMessage; // models take it as well
      return new (like.constructor as new (fields: { content: string }) => BaseMessage)({ content });
    },
  };
}

function write(message: BaseMessage): ChatMessage[] {
  const role = roles[message.getType()];
  if (!role) return [];
  const content = message.content as string | Block[];
  if (role === "tool") return [{ role, tool_call_id: (message as ToolMessage).tool_call_id, content: result(content) }];
  const parts = typeof content === "string" ? content : content.map(part).filter((p) => p !== undefined);
  const written: ChatMessage = { role, content: parts };
  const reasoning = reasoningOf(message, content);
  if (reasoning) written.reasoning_content = reasoning;
  const calls = role === "assistant" ? ((message as AIMessage).tool_calls ?? []) : [];
  if (calls.length > 0) {
    written.tool_calls = calls.map(({ id, name, args }) =>
      ({ id: id ?? "", type: "function", function: { name, arguments: argumentsOf(args) } }));
  }
  return [written];
}

function reasoningOf(message: BaseMessage, content: string | Block[]): string {
  const blocks = typeof content === "string" ? [] : content.filter(({ type }) => /thinking|reasoning/.test(type));
  const texts = blocks.map((block) => String(block["thinking"] || block["reasoning"] || "(encrypted)"));
  const { reasoning_content, reasoning } = message.additional_kwargs;
  if (typeof reasoning_content === "string") texts.push(reasoning_content);
  else if (reasoning) texts.push("(encrypted)"); // of OpenAI's Responses
  return texts.join("\n");
}

/** Returns the chat's form of a part; undefined for reasoning and calls. */
function part(block: Block): ChatPart | undefined {
  if (block.type === "text") return { type: "text", text: block.text ?? "" };
  if (/thinking|reasoning|^(tool_use|tool_call|function_call|input_json_delta)/.test(block.type)) return undefined;
  if (block.type.startsWith("image")) return attachment("image/png");
  if (/^(file|document|audio|input_audio|video|media)/.test(block.type)) return attachment("application/octet-stream");
  return { type: "text", text: JSON.stringify(block) }; // such as a tool that the provider ran
}

function result(content: string | Block[]): string {
  return typeof content === "string" ? content : resultOf(content);
}

function change(message: BaseMessage, shown: ChatMessage[]): BaseMessage {
  const [now] = shown;
  const content = message.content as string | Block[];
  if (message.getType() === "tool") {
    const text = textOf(now!.content);
    if (text === result(content)) return message;
    return copy(message, { content: typeof content === "string" ? text : withResult(content, text) });
  }
  const inputs = changedInputs(write(message)[0], now);
  const shows = typeof content === "string" ? textOf(now!.content) : withTexts(content, part, now!.content);
  return copy(message, { content: shows, ...(inputs.size > 0 ? withInputs(message as AIMessage, shows, inputs) : {}) });
}

/** Returns the fields of an answer that hold inputs of calls, with those that changed. */
function withInputs(message: AIMessage, content: string | Block[], inputs: Map<string, unknown>): object {
  const changed = (id: unknown) => inputs.has(id as string);
  const calls = message.tool_calls?.map((call) => (changed(call.id) ? { ...call, args: inputs.get(call.id!) } : call));
  const blocks = typeof content === "string" ? content : content.map((block) => {
    if (block.type === "tool_use" && changed(block.id)) return { ...block, input: inputs.get(block.id!) };
    return block.type === "tool_call" && changed(block.id) ? { ...block, args: inputs.get(block.id!) } : block;
  });
  const raw = message.additional_kwargs.tool_calls?.map((call) => (changed(call.id)
    ? { ...call, function: { ...call.function, arguments: JSON.stringify(inputs.get(call.id)) } } : call));
  const extra = raw ? { additional_kwargs: { ...message.additional_kwargs, tool_calls: raw } } : {};
  return { content: blocks, tool_calls: calls, ...extra };
}

/** Returns a copy of a message with other fields, of the same class. */
function copy(message: BaseMessage, fields: object): BaseMessage {
  const whole = Object.assign(Object.create(Object.getPrototypeOf(message)), message) as BaseMessage;
  return Object.assign(whole, fields, { lc_kwargs: { ...message.lc_kwargs, ...fields } });
}
