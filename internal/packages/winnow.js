#!/usr/bin/env node
// Runs the program of the package for this platform, with its input, output and signals.
import { spawn } from "node:child_process";
import { platform, program } from "../winnow.js";

const path = program();
if (!path) {
  console.error(`winnow: the package ${platform} is missing.
npm leaves it out with --omit=optional, and there is none for some platforms: npm install ${platform}
Other ways to install: https://github.com/winnowhq/winnow#install`);
  process.exit(1);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`winnow: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  for (const one of signals) process.removeAllListeners(one);
  if (signal) process.kill(process.pid, signal);
  else process.exit(code ?? 1);
});
