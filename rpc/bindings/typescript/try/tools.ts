// Shared code of the programs: tools for the files of the current folder, the engine, and the end, where
// a program prints its framework's history.

import { readFile, writeFile } from "node:fs/promises";
import { Winnow } from "../winnow.ts";
import type { ReportSent } from "../winnow.ts";

/** The arguments: node PROGRAM PROTOCOL MODEL PROMPT… */
export const [protocol, model, ...prompts] = process.argv.slice(2) as [string, string, ...string[]];
export const baseURL = process.env["BASE_URL"]!;
export const system = "You work on the files of the current folder.";

export const descriptions = {
  read: "Reads a file.",
  write: "Writes a file.",
  look: "Makes a picture of a page.",
};

export async function read({ path }: { path: string }): Promise<string> {
  return await readFile(path, "utf8");
}

export async function write({ path, content }: { path: string; content: string }): Promise<string> {
  await writeFile(path, content);
  return `${content.length} bytes written`;
}

/** A PNG of one dot, between two texts. */
export const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
export function look({ page }: { page: string }): [string, string] {
  return [`Above ${page}: ${"a heading, ".repeat(60)}`, `Below ${page}: ${"a footer, ".repeat(60)}`];
}

export const winnow = await Winnow.start();
/** An error of Winnow's fails the program: elsewhere the hook would send all messages and go on. */
export const options = {
  onError(error: unknown) {
    console.error(error);
    process.exitCode = 1;
  },
  onPruned({ before, after, leftOut, folded }: ReportSent) {
    console.error(JSON.stringify({ before, after, leftOut: leftOut.length, folded }));
  },
};

/** Prints the history that the framework keeps, and ends. */
export async function done(history: unknown): Promise<void> {
  console.log(JSON.stringify(history));
  await winnow.close();
}
