// Winnow's plugin for Claude Code. Tried with Claude Code 2.1.330; its hooks modules came with 2.1.287.
// Written by "winnow install claude": change nothing here, "winnow uninstall claude" would leave it.
//
// Whatever fails here is left to the product: its own compaction goes on, and nothing is lost.

const winnow = "winnow"; // the whole path of the program

let waits = false; // a compaction of this process waits to be anchored

export function register(on) {
  // A compaction is made by winnow: handles of what stays, shortened results, a summary.
  on("session.compact", async ($, e, next) => {
    if (e.agentId) return next(e);
    if (e.trigger === "precompute") return { skip: "winnow compacts when it is time, without a model" };
    try {
      const asked = {
        session: await $.session.id(),
        trigger: e.trigger,
        instructions: e.instructions ?? "",
        handles: e.messages.map((m) => m.handle ?? ""),
      };
      const ran = await $.process.run([winnow, "seated", "compact"], { stdin: JSON.stringify(asked) });
      const answer = ran.exitCode === 0 ? JSON.parse(ran.stdout) : {};
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

  // What the commands of this plugin show is printed by winnow; no model is asked.
  on("command.run", { command: "winnow:context" }, async ($, e, next) => {
    const shown = await $.process.run([winnow, "inspect", "claude-code:" + (await $.session.id())]);
    return { text: shown.stdout || shown.stderr };
  });
  on("command.run", { command: "winnow:why" }, async ($, e, next) => {
    const part = e.args.trim();
    const asked = [winnow, "explain", "claude-code:" + (await $.session.id())];
    const shown = await $.process.run(part === "" ? asked : [...asked, part]);
    return { text: shown.stdout || shown.stderr };
  });
  on("command.run", { command: "winnow:undo" }, async ($, e, next) => {
    const noted = await $.process.run([winnow, "seated", "undo", await $.session.id()]);
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
        .then((id) => $.process.run([winnow, "seated", "status", id]))
        .then((line) => $.ui.status(line.exitCode === 0 ? line.stdout.trim() : undefined))
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

  // A session that was killed before its compaction was anchored. Nothing waits for it.
  on("session.start", async ($, e, next) => {
    const started = await next(e);
    $.session.id().then((id) => $.process.run([winnow, "anchor", id])).catch(() => {});
    return started;
  });
}
