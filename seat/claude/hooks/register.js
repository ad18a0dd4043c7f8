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
    return done;
  });
  on("session.end", async ($, e, next) => {
    const done = await next(e);
    try {
      await $.process.run([winnow, "anchor", e.sessionId]);
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
