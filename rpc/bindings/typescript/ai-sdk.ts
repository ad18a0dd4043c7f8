// A hook for the AI SDK (npm: ai), 7 and newer. Winnow prunes the messages of each step; the messages of
// the result and of your own history stay whole.
//
//   const winnow = await Winnow.start();
//   const result = await generateText({ model, tools, messages, stopWhen, prepareStep: pruneStep(winnow) });
//
// streamText and ToolLoopAgent have the same option.

import type { Instructions, LanguageModel, ModelMessage } from "ai";
import { promptTranslation, prune } from "./hooks.ts";
import type { PruneOptions } from "./hooks.ts";
import type { Winnow } from "./winnow.ts";

export type { PruneOptions } from "./hooks.ts";

/** The fields of a step that the hook reads. */
export interface Step {
  messages: ModelMessage[];
  model: LanguageModel;
  /** The messages with which the run began. */
  initialMessages: ModelMessage[];
  instructions: Instructions | undefined;
}

/** Returns a function for prepareStep of generateText, streamText and ToolLoopAgent. */
export function pruneStep(
  winnow: Winnow, options: PruneOptions = {},
): (step: Step) => Promise<{ messages: ModelMessage[] }> {
  const translation = promptTranslation<ModelMessage>();
  // The next step begins with the messages that this one sends. Winnow decides on the whole messages, so
  // that the next run, which begins with the whole history, sends the same beginning.
  const runs = new WeakMap<ModelMessage[], { whole: ModelMessage[]; sent: ModelMessage[] }>();
  return async ({ messages, model, initialMessages, instructions }) => {
    const last = runs.get(initialMessages);
    const goesOn = last?.sent.every((message, i) => message === messages[i]);
    const whole = goesOn ? [...last!.whole, ...messages.slice(last!.sent.length)] : messages;
    const sent = await prune(winnow, whole, translation, textOf(instructions), { model: nameOf(model), ...options });
    runs.set(initialMessages, { whole, sent });
    return { messages: sent };
  };
}

function textOf(instructions: Instructions | undefined): string {
  if (!instructions || typeof instructions === "string") return instructions ?? "";
  return [instructions].flat().map((message) => message.content).join("\n");
}

function nameOf(model: LanguageModel): string {
  return typeof model === "string" ? model : `${model.provider.split(".")[0]}/${model.modelId}`;
}
