// Shared code of the hooks for frameworks. It hands a framework's messages to Winnow as messages of
// OpenAI's chat, and applies Winnow's decisions to the framework's own messages.

import type { PruneMessages, ReportSent, Winnow } from "./winnow.ts";

/** The settings of a hook. */
export interface PruneOptions {
  /** The model that reads the messages, "provider/id". Default: the model of the request. */
  model?: string;
  /** The tokens of a request that are not messages: its tools. Default: 0. */
  besides?: number;
  /** Leaves out old results of tools, and never folds the past into a summary. */
  keep?: boolean;
  /** Is called after each decision. */
  onPruned?: (sent: ReportSent) => void;
  /** Is called when Winnow fails; the messages are sent as they are. Default: a warning of the process. */
  onError?: (error: unknown) => void;
}

/** A part of a chat message. */
export interface ChatPart {
  type: string;
  text?: string;
  [further: string]: unknown;
}

/** A message of OpenAI's chat. */
export interface ChatMessage {
  role: string;
  content: string | ChatPart[];
  reasoning_content?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** Translates between a framework's messages and chat messages. */
export interface Translation<M> {
  /** Returns the chat messages of a message; none if a chat has no place for it. */
  write(message: M): ChatMessage[];
  /** Returns a copy of a message that shows the texts and the inputs of these chat messages. */
  change(message: M, shown: ChatMessage[]): M;
  /** Returns a new message: a summary. */
  create(role: string, text: string): M;
}

/** A chat message with the place of the message that it was written from; -1 for the instructions. */
interface Placed extends ChatMessage {
  winnow: number;
}

/**
 * Returns the messages to send in the place of these. Messages that Winnow keeps as they are come back
 * as the same objects; none is modified. If Winnow fails, all of them come back.
 */
export async function prune<M>(
  winnow: Winnow, messages: M[], translation: Translation<M>, instructions: string, options: PruneOptions,
): Promise<M[]> {
  const place = (message: M, winnow: number) => translation.write(message).map((one) => ({ ...one, winnow }));
  const chat = paired(messages.flatMap(place));
  if (instructions) chat.unshift({ role: "system", content: instructions, winnow: -1 });
  try {
    const { model, besides, keep } = options;
    const request: PruneMessages = { messages: chat };
    if (model) request.model = model;
    if (besides) request.besides = besides;
    if (keep) request.keep = keep;
    const { messages: shown, from, sent } = await winnow.pruneMessages(request);
    options.onPruned?.(sent);
    if (shown.length === chat.length && from.every((at) => at >= 0)) return messages;
    return apply(messages, translation, chat, shown as (ChatMessage & Partial<Placed>)[], from);
  } catch (error) {
    if (options.onError) options.onError(error);
    else process.emitWarning(`winnow left the messages as they are: ${(error as Error).message}`);
    return messages;
  }
}

/** Removes calls without results and results without calls: Winnow refuses them. */
function paired(chat: Placed[]): Placed[] {
  const answered = new Set<string>();
  let open = new Set<string>();
  const messages = chat.filter(({ role, tool_calls, tool_call_id }) => {
    if (role !== "tool") {
      if (role !== "system") open = new Set(tool_calls?.map((call) => call.id));
      return true;
    }
    if (!open.delete(tool_call_id!)) return false;
    answered.add(tool_call_id!);
    return true;
  });
  return messages.map(({ tool_calls, ...message }) => {
    const calls = tool_calls?.filter((call) => answered.has(call.id)) ?? [];
    return calls.length > 0 ? { ...message, tool_calls: calls } : message;
  });
}

/** Applies Winnow's decisions to the framework's messages. */
function apply<M>(
  messages: M[], translation: Translation<M>, chat: Placed[], shown: (ChatMessage & Partial<Placed>)[], from: number[],
): M[] {
  const handed = new Map<number, number>(); // number of chat messages by message
  for (const { winnow } of chat) handed.set(winnow, (handed.get(winnow) ?? 0) + 1);
  const stays = new Map<number, { as: ChatMessage[]; same: number }>();
  shown.forEach((message, i) => {
    if (message.winnow === undefined) return;
    const stay = stays.get(message.winnow) ?? { as: [], same: 0 };
    stay.as.push(message);
    if (from[i]! >= 0) stay.same++;
    stays.set(message.winnow, stay);
  });
  // A message without chat messages stays if the one before it stays.
  const kept: boolean[] = [];
  messages.forEach((_, at) => {
    const follows = !handed.has(at) && (at === 0 || kept[at - 1]!);
    kept.push(stays.has(at) || follows);
  });
  const sent: M[] = [];
  let next = 0;
  const upTo = (end: number) => {
    for (; next < end; next++) {
      if (!kept[next]) continue;
      const stay = stays.get(next);
      const same = !stay || stay.same === handed.get(next);
      sent.push(same ? messages[next]! : translation.change(messages[next]!, stay.as));
    }
  };
  for (const message of shown) {
    if (message.winnow === undefined) sent.push(translation.create(message.role, textOf(message.content)));
    else upTo(message.winnow + 1);
  }
  upTo(messages.length);
  return sent;
}

/** Returns the text of a chat message's content. */
export function textOf(content: string | ChatPart[]): string {
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}

/** Returns a stand-in for an image or a file: Winnow counts it and needs no data. */
export function attachment(mediaType: string): ChatPart {
  const data = `data:${mediaType};base64,`;
  if (mediaType.startsWith("image")) return { type: "image_url", image_url: { url: "data:image/png;base64," } };
  return { type: "file", file: { filename: "file", file_data: data } };
}

/** Returns the parts of a message with the shown texts. All other parts stay. */
export function withTexts<P extends { type: string }>(
  parts: P[], write: (part: P) => ChatPart | undefined, content: string | ChatPart[],
): P[] {
  if (typeof content === "string" || content.length !== parts.filter((part) => write(part)).length) return parts;
  let next = 0;
  return parts.map((part) => {
    const was = write(part);
    const now = was && content[next++];
    if (part.type !== "text" || now?.type !== "text" || now.text === was?.text) return part;
    return { ...part, text: now.text };
  });
}

/** Returns the text of a result with parts. Its images and files stay, and Winnow is not told of them. */
export function resultOf(parts: { type: string; text?: string }[]): string {
  return parts.filter((part) => part.type === "text").map((part) => part.text ?? "").join("\n");
}

/** Returns the parts of a result with the shown text in place of its texts. All other parts stay. */
export function withResult<P extends { type: string }>(parts: P[], text: string): P[] {
  const first = parts.find((part) => part.type === "text");
  return parts.filter((part) => part.type !== "text" || part === first)
    .map((part) => (part === first ? { ...part, text } : part));
}

/** Returns the input of a call as JSON. */
export function argumentsOf(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}

/** Returns the inputs that changed, by the ids of their calls. */
export function changedInputs(before: ChatMessage | undefined, shown: ChatMessage | undefined): Map<string, unknown> {
  const had = new Map(before?.tool_calls?.map((call) => [call.id, call.function.arguments]));
  const changed = new Map<string, unknown>();
  for (const call of shown?.tool_calls ?? []) {
    if (had.get(call.id) !== call.function.arguments) changed.set(call.id, JSON.parse(call.function.arguments));
  }
  return changed;
}

/** A message of the AI SDK or of Mastra's prompts. */
interface PromptMessage {
  role: string;
  content: string | PromptPart[];
}

interface PromptPart {
  type: string;
  text?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: PromptOutput;
  data?: unknown;
  mediaType?: string;
}

interface PromptOutput {
  type: string;
  value?: unknown;
  reason?: string;
}

/** Translates messages of the AI SDK, and prompts of Mastra. */
export function promptTranslation<M extends { role: string }>(): Translation<M> {
  return {
    write: (message) => writePrompt(message as unknown as PromptMessage),
    change: (message, shown) => changePrompt(message as unknown as PromptMessage, shown) as unknown as M,
    create: (role, text) => ({ role, content: [{ type: "text", text }] }) as unknown as M,
  };
}

function writePrompt({ role, content }: PromptMessage): ChatMessage[] {
  if (typeof content === "string") return [{ role, content }];
  if (role === "tool") {
    return content.filter((part) => part.type === "tool-result")
      .map((part) => ({ role, tool_call_id: part.toolCallId!, content: outputOf(part.output!) }));
  }
  const message: ChatMessage = { role, content: content.map(writePart).filter((part) => part !== undefined) };
  const reasoning = content.filter((part) => part.type === "reasoning").map((part) => part.text || "(encrypted)");
  const calls = content.filter((part) => part.type === "tool-call");
  if (reasoning.length > 0) message.reasoning_content = reasoning.join("\n");
  if (calls.length > 0) {
    message.tool_calls = calls.map(({ toolCallId, toolName, input }) =>
      ({ id: toolCallId!, type: "function", function: { name: toolName!, arguments: argumentsOf(input) } }));
  }
  return [message];
}

/** Returns the chat's form of a part; undefined for reasoning, calls and approvals. */
function writePart(part: PromptPart): ChatPart | undefined {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text ?? "" };
    case "tool-result": // the provider ran the tool
      return { type: "text", text: outputOf(part.output!) };
    case "image":
      return attachment("image/png");
    case "file": {
      const data = part.data as { type?: string; text?: string } | undefined;
      return data?.type === "text" ? { type: "text", text: data.text ?? "" } : attachment(part.mediaType ?? "");
    }
  }
  return undefined;
}

function outputOf({ type, value, reason }: PromptOutput): string {
  if (type === "content") return resultOf(value as PromptPart[]);
  if (type === "execution-denied") return reason ?? "denied";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function changePrompt(message: PromptMessage, shown: ChatMessage[]): PromptMessage {
  const { role, content } = message;
  if (typeof content === "string") return { ...message, content: textOf(shown[0]!.content) };
  if (role === "tool") {
    const results = new Map(shown.map((result) => [result.tool_call_id, textOf(result.content)]));
    return { ...message, content: content.map((part) => changeResult(part, results.get(part.toolCallId))) };
  }
  const inputs = changedInputs(writePrompt(message)[0], shown[0]);
  const texts = withTexts(content, writePart, shown[0]!.content);
  return { ...message, content: texts.map((part) => {
    const changed = part.type === "tool-call" && inputs.has(part.toolCallId!);
    return changed ? { ...part, input: inputs.get(part.toolCallId!) } : part;
  }) };
}

function changeResult(part: PromptPart, text: string | undefined): PromptPart {
  const output = part.output;
  if (part.type !== "tool-result" || !output || text === undefined || text === outputOf(output)) return part;
  switch (output.type) {
    case "content":
      return { ...part, output: { ...output, value: withResult(output.value as PromptPart[], text) } };
    case "execution-denied":
      return part;
  }
  return { ...part, output: { ...output, type: output.type.startsWith("error") ? "error-text" : "text", value: text } };
}
