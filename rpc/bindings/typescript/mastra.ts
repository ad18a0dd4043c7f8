// A hook for Mastra (npm: @mastra/core), 1.71 and newer: an input processor. Winnow prunes the prompt
// of each request; the messages of the agent and of its memory stay whole.
//
//   const winnow = await Winnow.start();
//   const agent = new Agent({ …, inputProcessors: [pruneProcessor(winnow)] });
//
// Place it behind other processors that change prompts.

import type { ProcessLLMRequestArgs, ProcessLLMRequestResult } from "@mastra/core/processors";
import { promptTranslation, prune } from "./hooks.ts";
import type { PruneOptions } from "./hooks.ts";
import type { Winnow } from "./winnow.ts";

export type { PruneOptions } from "./hooks.ts";

/** The processor of an agent. */
export interface PruneProcessor {
  readonly id: "winnow";
  readonly name: string;
  processLLMRequest(request: ProcessLLMRequestArgs): Promise<ProcessLLMRequestResult>;
}

/** Returns a processor for inputProcessors of an agent. */
export function pruneProcessor(winnow: Winnow, options: PruneOptions = {}): PruneProcessor {
  const translation = promptTranslation<ProcessLLMRequestArgs["prompt"][number]>();
  return {
    id: "winnow",
    name: "Winnow",
    async processLLMRequest({ prompt, model }) {
      const name = `${model.provider.split(".")[0]}/${model.modelId}`;
      return { prompt: await prune(winnow, prompt, translation, "", { model: name, ...options }) };
    },
  };
}
