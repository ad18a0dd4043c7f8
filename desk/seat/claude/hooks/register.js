// Winnow's plugin for Claude Code. Tried with Claude Code 2.1.330; its hooks modules came with 2.1.287.
// Written by "winnow install claude": change nothing here, "winnow uninstall claude" would leave it.
//
// Whatever fails here is left to the product: its own compaction goes on, and nothing is lost.

const winnow = "winnow"; // the whole path of the program

let waits = false; // a compaction of this process waits to be anchored

// worthAsking tells results of which something may be left out, so that winnow is not run for each.
function worthAsking(text) {
  return text.length >= 4000 || /[\u001b\r]/.test(text);
}

// asked is what winnow answers, an empty object if it fails. Why is on the status line until the turn
// is over.
async function asked($, question) {
  const ran = await $.process.run([winnow, "shape", "--product", "claude"], { stdin: JSON.stringify(question) });
  if (ran.exitCode === 0) return JSON.parse(ran.stdout);
  $.ui.status((ran.stderr || "it ended with " + ran.exitCode).trim().split("\n")[0].replace(/^winnow: /, ""));
  return {};
}

export function register(on) {
  // A compaction is made by winnow: handles of what stays, shortened results, a summary.
  on("session.compact", async ($, e, next) => {
    if (e.agentId) return next(e);
    if (e.trigger === "precompute") return { skip: "winnow compacts when it is time, without a model" };
    try {
      const answer = await asked($, {
        event: "compact",
        session: await $.session.id(),
        trigger: e.trigger,
        instructions: e.instructions ?? "",
        handles: e.messages.map((m) => m.handle ?? ""),
      });
      const said = answer.says || answer.skip;
      if (said) $.ui.status(said);
      const known = new Map(e.messages.map((m) => [m.handle, m]));
      const messages = (answer.messages ?? []).map((row) => (row.handle ? known.get(row.handle) : row.turn));
      if (messages.length > 0 && messages.every((m) => m !== undefined)) {
        waits = true;
        return { messages, tokensBefore: answer.tokensBefore, tokensAfter: answer.tokensAfter };
      }
    } catch {
      // the product's own compaction
    }
    return next(e);
  });

  // A result is shortened before it is sent for the first time where it says nothing new: codes for
  // a terminal, what an equal call gave before. The file keeps the original beside it.
  on("session.append", async ($, e, next) => {
    if (e.door !== "tool-result" || e.agentId || !Array.isArray(e.message?.content)) return next(e);
    const results = e.message.content
      .filter((b) => b.type === "tool_result" && typeof b.content === "string" && worthAsking(b.content))
      .map((b) => ({ tool_use_id: b.tool_use_id, text: b.content }));
    if (results.length === 0) return next(e);
    let message = e.message;
    try {
      const answer = await asked($, { event: "result", session: await $.session.id(), results });
      const short = new Map((answer.results ?? []).map((r) => [r.tool_use_id, r.text]));
      const content = message.content.map((b) => (short.has(b.tool_use_id) ? { ...b, content: short.get(b.tool_use_id) } : b));
      if (short.size > 0) message = { ...message, content };
    } catch {
      // it is sent as it is
    }
    return next({ ...e, message });
  });

  // What the commands of this plugin show is printed by winnow; no model is asked.
  on("command.run", { command: "winnow:context" }, async ($, e, next) => {
    const shown = await $.process.run([winnow, "inspect", "claude-code:" + (await $.session.id())]);
    return { text: shown.stdout || shown.stderr };
  });
  on("command.run", { command: "winnow:why" }, async ($, e, next) => {
    const part = e.args.trim();
    const command = [winnow, "explain", "claude-code:" + (await $.session.id())];
    const shown = await $.process.run(part === "" ? command : [...command, part]);
    return { text: shown.stdout || shown.stderr };
  });
  on("command.run", { command: "winnow:undo" }, async ($, e, next) => {
    const noted = await $.process.run([winnow, "anchor", "--undo", await $.session.id()]);
    return { text: noted.stdout || noted.stderr };
  });

  // What was compacted is anchored in the file as soon as the turn, or the session, is over.
  on("turn.complete", async ($, e, next) => {
    const done = await next(e);
    if (waits && !e.agentId) {
      waits = false;
      try {
        await $.process.run([winnow, "anchor", await $.session.id()]);
      } catch {
        // it is tried again at the end, and at the next start
      }
    }
    if (!e.agentId) {
      $.session.id()
        .then((session) => asked($, { event: "status", session }))
        .then((answer) => $.ui.status(answer.line))
        .catch(() => {});
    }
    return done;
  });
  on("session.end", async ($, e, next) => {
    const done = await next(e);
    try {
      await $.process.run([winnow, "anchor", "--ended", e.sessionId]);
    } catch {
      // the next start tries again
    }
    return done;
  });

  // A session that was killed before its compaction was anchored. Then the line, which says before
  // the first prompt that the provider's cache is gone; a new session has none. Nothing waits for it.
  on("session.start", async ($, e, next) => {
    const started = await next(e);
    $.session.id()
      .then((id) => $.process.run([winnow, "anchor", id]).catch(() => {}).then(() => id))
      .then((session) => $.process.run([winnow, "shape", "--product", "claude"], { stdin: JSON.stringify({ event: "status", session }) }))
      .then((ran) => ran.exitCode === 0 && $.ui.status(JSON.parse(ran.stdout).line))
      .catch(() => {});
    return started;
  });
}
