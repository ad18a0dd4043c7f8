// A client of `winnow engine --stdio`: one file, no dependencies. The package @winnowhq/winnow has
// it with the program; or copy the file into your project, and install winnow. Node 22.18 or newer
// runs it as it is; 22.6 and newer with --experimental-strip-types.
//
//   const winnow = await Winnow.start({ summarizeAs: "anthropic", summarize: askMyModel });
//   const { session } = await winnow.create({ model: "anthropic/claude-sonnet-4-5" });
//   await winnow.append({ session, as: "anthropic", messages: [{ role: "user", content: "Hello." }] });
//   const messages = await winnow.messages(session, "anthropic"); // what the model is to be sent
//
// docs/bindings.md of winnow has the whole loop.

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createRequire } from "node:module";

/** The package that has the program for this platform. */
export const platform = `@winnowhq/winnow-${process.platform}-${process.arch}`;

/** The path of the program: WINNOW_PROGRAM, or that of the package for this platform, if it is installed. */
export function program(): string | undefined {
  if (process.env["WINNOW_PROGRAM"]) return process.env["WINNOW_PROGRAM"];
  try {
    return createRequire(import.meta.url).resolve(`${platform}/bin/winnow${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    return undefined;
  }
}

/** How the engine is started, and what it can ask of you. */
export interface Options {
  /** The program and its arguments. Default: engine --stdio of program(), or of winnow in PATH. */
  command?: string[];
  /** The folder in which it runs. */
  cwd?: string;
  /** Its environment. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** The name and version of your program. */
  client?: string;
  /** Writes a summary with a model of yours. Without it the configuration says who does. */
  summarize?: (request: Summarize, signal: AbortSignal) => Promise<Summary>;
  /** The format of the messages that summarize is given. Default: plain. */
  summarizeAs?: string;
  /** Is called with each event; ask for them with subscribe. */
  onEvent?: (notified: Notified) => void;
}

/** Why a request was not done. */
export class WinnowError extends Error {
  /** The reason as a word: "not-found", "nothing-to-fold", "busy", "gone" of an engine that ended. */
  code: string;
  /** The number of JSON-RPC. */
  number: number;
  /** What to do about it. */
  hint: string | undefined;
  op: string | undefined;
  session: string | undefined;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = "WinnowError";
    this.number = failure.code;
    this.code = failure.data?.code ?? "";
    this.hint = failure.data?.hint;
    this.op = failure.data?.op;
    this.session = failure.data?.session;
  }
}

interface Line {
  id?: number | string | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: Failure;
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

const again = "start it again; what was answered is stored";

/** The connection to an engine of your own. Use the class Winnow. */
export class Connection {
  /** What the engine is and can do. */
  server: Initialized | undefined;

  private options: Options;
  private process: ChildProcess;
  private number = 0;
  private waiting = new Map<number, Waiting>();
  private asked = new Map<number | string, AbortController>();
  private views = new Map<string, { state: string; messages: unknown[] }>();
  private pieces: Buffer[] = [];
  private said: string[] = []; // the last lines of its error output
  private ended: Promise<number | null>;
  private gone: WinnowError | undefined;
  private longest = 64 * 1024 * 1024; // bytes of a line, until the engine has said it

  constructor(options: Options = {}) {
    this.options = options;
    const [path, ...args] = options.command ?? [program() ?? "winnow", "engine", "--stdio"];
    const { cwd, env } = options;
    this.process = spawn(path!, args, { ...(cwd ? { cwd } : {}), ...(env ? { env } : {}), stdio: ["pipe", "pipe", "pipe"] });
    this.process.stdout!.on("data", (chunk: Buffer) => this.hear(chunk));
    this.process.stderr!.on("data", (chunk: Buffer) => {
      process.stderr.write(chunk);
      this.said = [...this.said, ...chunk.toString("utf8").split("\n").filter((line) => line.trim())].slice(-20);
    });
    this.process.stdin!.on("error", () => {}); // the end of the process says it
    this.ended = new Promise((resolve) => {
      this.process.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") return this.end("gone", error.message, again, resolve, null);
        const hint = `npm install @winnowhq/winnow ${platform}, or see https://github.com/winnowhq/winnow#install`;
        this.end("missing", `the program ${path} is not installed`, hint, resolve, null);
      });
      this.process.on("close", (code) =>
        this.end("gone", [`the engine ended with the code ${code}`, ...this.said].join("\n"), again, resolve, code));
    });
  }

  /** Starts an engine and agrees on the protocol with it. */
  static async start<T extends Connection>(this: new (options: Options) => T, options: Options = {}): Promise<T> {
    const connection = new this(options);
    connection.server = (await connection.request("initialize", {
      protocols: [PROTOCOL],
      client: options.client ?? "winnow.ts",
      summarize: options.summarize ? (options.summarizeAs ?? "plain") : "",
    })) as Initialized;
    connection.longest = connection.server.maxLine ?? connection.longest;
    return connection;
  }

  /** Sends a request. Abort the signal to cancel it. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.gone) return Promise.reject(this.gone);
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.send({ id, method, params }); // what it throws rejects the promise
      this.waiting.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => this.send({ method: "$/cancelRequest", params: { id } }), { once: true });
    });
  }

  /**
   * The messages that the model is to be sent now. Only what is new since the last call is read
   * from the engine. The list is the client's: copy it before you change it.
   */
  async messages(session: string, as = "plain"): Promise<unknown[]> {
    const key = `${as} ${session}`;
    const had = this.views.get(key);
    const view = (await this.request("view", { session, as, since: had?.state })) as Viewed;
    const messages = [...(had?.messages.slice(0, view.keep) ?? []), ...view.messages];
    this.views.set(key, { state: view.state, messages });
    return messages;
  }

  /** Ends the engine once it has answered everything, and returns its exit code. */
  close(): Promise<number | null> {
    this.process.stdin!.end();
    return this.ended;
  }

  private send(line: Line): void {
    const text = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`);
    if (text.length > this.longest) {
      const message = `a line of ${text.length} bytes is longer than the ${this.longest} that the engine reads`;
      throw new WinnowError({ code: -32600, message, data: { code: "too-large", hint: "send less at a time" } });
    }
    this.process.stdin!.write(text);
  }

  private hear(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.pieces.push(chunk.subarray(start, end));
      const text = Buffer.concat(this.pieces).toString("utf8");
      this.pieces = [];
      start = end + 1;
      this.take(JSON.parse(text) as Line);
    }
    if (start < chunk.length) this.pieces.push(chunk.subarray(start));
  }

  private take(line: Line): void {
    if (line.method === "event") {
      this.options.onEvent?.(line.params as Notified);
    } else if (line.method === "$/cancelRequest") {
      this.asked.get((line.params as { id: string }).id)?.abort();
    } else if (line.method !== undefined) {
      void this.answer(line);
    } else if (line.error && line.id == null) {
      // The engine could not tell which request failed: nobody waits for ever.
      for (const waiting of this.waiting.values()) waiting.reject(new WinnowError(line.error));
      this.waiting.clear();
    } else {
      const waiting = this.waiting.get(line.id as number);
      this.waiting.delete(line.id as number);
      if (line.error) waiting?.reject(new WinnowError(line.error));
      else waiting?.resolve(line.result);
    }
  }

  /** Answers a request of the engine's. */
  private async answer(line: Line): Promise<void> {
    const id = line.id!;
    const abort = new AbortController();
    this.asked.set(id, abort);
    try {
      if (line.method !== "summarize" || !this.options.summarize) throw new Error(`unknown method ${line.method}`);
      this.send({ id, result: await this.options.summarize(line.params as Summarize, abort.signal) });
    } catch (error) {
      // A provider's error is told as it came, so that the engine can try a shorter request.
      const { status, code } = error as { status?: unknown; code?: unknown };
      const data = { code: String(code ?? ""), ...(typeof status === "number" ? { status } : {}) };
      this.send({ id, error: { code: -32000, message: (error as Error).message, data } });
    } finally {
      this.asked.delete(id);
    }
  }

  private end(
    code: string, message: string, hint: string, resolve: (exit: number | null) => void, exit: number | null,
  ): void {
    this.gone ??= new WinnowError({ code: -32003, message, data: { code, hint } });
    for (const waiting of this.waiting.values()) waiting.reject(this.gone);
    this.waiting.clear();
    resolve(exit);
  }
}

// Made from ../schema.json by go test ./internal/schema -update; do not edit below this line.

/** The version of the protocol that this client speaks. */
export const PROTOCOL = 1;

export class Winnow extends Connection {
  /**
   * Initialize is the first request of a client: which versions of the protocol it speaks, and
   * what it can do for the engine.
   */
  initialize(params: Initialize, signal?: AbortSignal): Promise<Initialized> {
    return this.request("initialize", params, signal) as Promise<Initialized>;
  }

  /** Create begins an empty session. */
  create(params: Create = {}, signal?: AbortSignal): Promise<Created> {
    return this.request("create", params, signal) as Promise<Created>;
  }

  /** Fork begins a session with the log of another one. */
  fork(params: Fork, signal?: AbortSignal): Promise<Created> {
    return this.request("fork", params, signal) as Promise<Created>;
  }

  /** List lists the sessions of the store. */
  list(params: List = {}, signal?: AbortSignal): Promise<Listed> {
    return this.request("list", params, signal) as Promise<Listed>;
  }

  /**
   * Append adds messages at the end of a log. Once it is answered they are in the store. What a
   * provider's format has as messages of their own, the results of calls, becomes part of the
   * calls.
   */
  append(params: Append, signal?: AbortSignal): Promise<Appended> {
    return this.request("append", params, signal) as Promise<Appended>;
  }

  /**
   * Update says more completely what was said before: what calls gave back, or a message that was
   * streamed. Once it is answered it is in the store.
   */
  update(params: Update, signal?: AbortSignal): Promise<Appended> {
    return this.request("update", params, signal) as Promise<Appended>;
  }

  /** Log reads the log as it was written: nothing is left out, and nothing is folded. */
  log(params: Log, signal?: AbortSignal): Promise<Logged> {
    return this.request("log", params, signal) as Promise<Logged>;
  }

  /** Read returns a part as it was written, whatever the model is shown of it. */
  read(params: Read, signal?: AbortSignal): Promise<Whole> {
    return this.request("read", params, signal) as Promise<Whole>;
  }

  /**
   * Begin says that a request is about to be sent, before its view is taken: what pays is left out
   * now.
   */
  begin(params: Begin, signal?: AbortSignal): Promise<Outcome> {
    return this.request("begin", params, signal) as Promise<Outcome>;
  }

  /** View is what the model is to be sent now. */
  view(params: View, signal?: AbortSignal): Promise<Viewed> {
    return this.request("view", params, signal) as Promise<Viewed>;
  }

  /**
   * Observe tells what the provider reported for the newest step, once the results of its calls
   * are in the log; or, with rejection, how it refused the request. The engine prunes and folds if
   * it must.
   */
  observe(params: Observe, signal?: AbortSignal): Promise<Outcome> {
    return this.request("observe", params, signal) as Promise<Outcome>;
  }

  /** EndTurn says that the model called no more tools. */
  endTurn(params: EndTurn, signal?: AbortSignal): Promise<Outcome> {
    return this.request("endTurn", params, signal) as Promise<Outcome>;
  }

  /** Compact folds the past into a summary. */
  compact(params: Compact, signal?: AbortSignal): Promise<Receipted> {
    return this.request("compact", params, signal) as Promise<Receipted>;
  }

  /**
   * Prepare writes the summary of a fold that is near, beside the other requests of the session.
   * Nothing is stored.
   */
  prepare(params: Prepare, signal?: AbortSignal): Promise<Nothing> {
    return this.request("prepare", params, signal) as Promise<Nothing>;
  }

  /** Preview says what compact would do, without asking a model and without writing anything. */
  preview(params: Preview, signal?: AbortSignal): Promise<WinnowPreview> {
    return this.request("preview", params, signal) as Promise<WinnowPreview>;
  }

  /** Prune leaves out what can go. If compaction.prune is off it does nothing, unless it is forced. */
  prune(params: Prune, signal?: AbortSignal): Promise<Outcome> {
    return this.request("prune", params, signal) as Promise<Outcome>;
  }

  /**
   * PruneMessages asks for the messages that are to be sent in the place of a conversation's. It
   * keeps no session: each request hands in the whole conversation, or what came back with the
   * messages since.
   */
  pruneMessages(params: PruneMessages, signal?: AbortSignal): Promise<PrunedMessages> {
    return this.request("pruneMessages", params, signal) as Promise<PrunedMessages>;
  }

  /** Discard leaves parts out, with a placeholder in the place of each. */
  discard(params: Discard, signal?: AbortSignal): Promise<WinnowEdited> {
    return this.request("discard", params, signal) as Promise<WinnowEdited>;
  }

  /** Distill shows a summary in the place of the parts that it was made from. */
  distill(params: Distill, signal?: AbortSignal): Promise<WinnowEdited> {
    return this.request("distill", params, signal) as Promise<WinnowEdited>;
  }

  /** Restore shows parts whole again that were left out or folded. */
  restore(params: Restore, signal?: AbortSignal): Promise<WinnowEdited> {
    return this.request("restore", params, signal) as Promise<WinnowEdited>;
  }

  /** Pin keeps a part, a message or a text through every pruning and compaction. */
  pin(params: Pin, signal?: AbortSignal): Promise<Pinned> {
    return this.request("pin", params, signal) as Promise<Pinned>;
  }

  /** Unpin forgets a pin, named by its id, by its part or message, or by its text. */
  unpin(params: Unpin, signal?: AbortSignal): Promise<Nothing> {
    return this.request("unpin", params, signal) as Promise<Nothing>;
  }

  /** Undo takes back what a receipt is for: a compaction, a pruning, a restore or a pin. */
  undo(params: Undo, signal?: AbortSignal): Promise<Receipted> {
    return this.request("undo", params, signal) as Promise<Receipted>;
  }

  /** Redo makes count again what was undone. */
  redo(params: Redo, signal?: AbortSignal): Promise<Receipted> {
    return this.request("redo", params, signal) as Promise<Receipted>;
  }

  /** Explain says why a part is shown, left out, protected or about to go. */
  explain(params: Explain, signal?: AbortSignal): Promise<Explained> {
    return this.request("explain", params, signal) as Promise<Explained>;
  }

  /** Inspect reports where the tokens are, what can go, how full the window is, and what it cost. */
  inspect(params: Inspect, signal?: AbortSignal): Promise<Report> {
    return this.request("inspect", params, signal) as Promise<Report>;
  }

  /** Subscribe asks for the notifications "event" of a session, from now on. */
  subscribe(params: Subscribe = {}, signal?: AbortSignal): Promise<Nothing> {
    return this.request("subscribe", params, signal) as Promise<Nothing>;
  }

  /** Unsubscribe ends what subscribe with the same session asked for. */
  unsubscribe(params: Unsubscribe = {}, signal?: AbortSignal): Promise<Nothing> {
    return this.request("unsubscribe", params, signal) as Promise<Nothing>;
  }

  /** Schema is this protocol as a JSON Schema. */
  schema(params: Schema = {}, signal?: AbortSignal): Promise<unknown> {
    return this.request("schema", params, signal) as Promise<unknown>;
  }

  /** Shutdown asks the server to end once all other requests are answered. */
  shutdown(params: Shutdown = {}, signal?: AbortSignal): Promise<Nothing> {
    return this.request("shutdown", params, signal) as Promise<Nothing>;
  }
}

/**
 * Append adds messages at the end of a log. Once it is answered they are in the store. What a
 * provider's format has as messages of their own, the results of calls, becomes part of the calls.
 */
export interface Append {
  /** Session is the id of a session. */
  session: string;
  /** As is the format of Messages: "plain", or that of a provider. */
  as?: string;
  /** Messages are those of a request body in that format, or objects Message with "plain". */
  messages: unknown[];
  /**
   * Model is who wrote the assistant's messages, "provider/id"; "" is the model that reads the
   * session.
   */
  model?: string;
}

/** Appended names what is in the store now. */
export interface Appended {
  /** Messages are those that were appended, in their order. */
  messages: Stored[];
  /** Ended are the ids of the parts whose calls have ended by it. */
  ended: string[];
}

/**
 * Begin says that a request is about to be sent, before its view is taken: what pays is left out
 * now.
 */
export interface Begin {
  /** Session is the id of a session. */
  session: string;
}

/** Bill sums up requests to models. */
export interface Bill {
  /** how many requests */
  requests: number;
  /** the usage of those that report it */
  usage: SessionUsage;
  /**
   * US dollars for those whose cost is known: a lower bound if others are unpriced or unreported;
   * null if none is known.
   */
  cost: number | null;
  /** requests that used tokens at an unknown price */
  unpriced?: number;
  /** requests without a plausible report of their usage */
  unreported?: number;
  /**
   * US dollars that the log itself states for some of them; given if it differs from "counted" by
   * a cent.
   */
  logged?: number;
  /** the share of "cost" for the same requests as "logged" */
  counted?: number;
}

/**
 * Split is what requests cost in US dollars, by what was paid for. Its sum is the cost of their
 * bill, but for rounding.
 */
export interface BillSplit {
  /** prompts that were read from the provider's cache */
  read: number;
  /** prompts that were written to the provider's cache */
  write: number;
  /** Prompts that were neither read from the cache nor written to it. */
  input: number;
  /** answers, with their reasoning */
  output: number;
  /** Searches of the web, and requests that the log prices without a usage. */
  other?: number;
}

/** Sums are the bills of a session, by what was paid for. */
export interface BillSums {
  /** for the session's own log */
  steps: Bill;
  /** for summaries of its past */
  summaries?: Bill;
  /** for sub-agents in the same file */
  agents?: Bill;
  /**
   * For requests that are not part of the session: abandoned branches, answers that the log does
   * not have.
   */
  left?: Bill;
  /** for failed requests */
  failed?: Bill;
}

/** Verdict says whether a session still fits. */
export interface BudgetVerdict {
  /** whether the window does not fit */
  overflow: boolean;
  /** tokens that were counted */
  total: number;
  /** Tokens that they were compared with: the budget, or the threshold below it. */
  usable: number;
  /**
   * The reason as a word: "fits", "overflow", "auto-off" (it overflows, and "compaction.auto" is
   * off, so nothing is folded), "doubtful-reports" (the report cannot be of one request),
   * "unknown-limits" (no limit is known), "unlimited" (the configuration says that there is none).
   */
  code: string;
  /** the reason as a sentence */
  reason: string;
}

/** Compact folds the past into a summary. */
export interface Compact {
  /** Session is the id of a session. */
  session: string;
  /** Focus is what the summary is to dwell on. */
  focus?: string;
  /** To is how many tokens the view may have afterwards, 0 without a bound. */
  to?: number;
  /** Auto appends the message that asks the model to go on. */
  auto?: boolean;
  /** Later only appends a marker, a task that waits in the log. */
  later?: boolean;
  /** Waiting only executes a marker that waits, and does nothing without one. */
  waiting?: boolean;
  /** Prepared only makes a summary count that prepare has written, and does nothing without one. */
  prepared?: boolean;
}

/** Create begins an empty session. */
export interface Create {
  /**
   * ID is the id of the session; one is made if it is "". An id that is taken is an error with the
   * code "already".
   */
  id?: string;
  /** Title is for people. */
  title?: string;
  /** Directory is the working folder, absolute: paths are shortened by it. */
  directory?: string;
  /** Parent is the id of the session that this one works for. */
  parent?: string;
  /**
   * Model is the model that reads the session, "provider/id": its limits decide when the window is
   * full.
   */
  model?: string;
}

/** Created is a session that is in the store. */
export interface Created {
  /** Session is its id. */
  session: string;
}

/** Discard leaves parts out, with a placeholder in the place of each. */
export interface Discard {
  /** Session is the id of a session. */
  session: string;
  /** Parts are ids of parts, ids of calls, or handles. */
  parts: string[];
}

/** Distill shows a summary in the place of the parts that it was made from. */
export interface Distill {
  /** Session is the id of a session. */
  session: string;
  /** Distillations are the summaries with the parts that each is for. */
  distillations: EditDistillation[];
}

/** Distillation is a summary with the parts that it stands for. */
export interface EditDistillation {
  /** part ids, call ids or handles */
  targets: string[];
  summary: string;
}

/**
 * Target is what became of one part that was named. OK says that it is now as it was asked to be,
 * also when it was so already.
 */
export interface EditTarget {
  /** the target as it was given */
  target: string;
  /** short name of the part that it names */
  handle?: string;
  /** id of the part that it names */
  part?: string;
  /** whether it is now as requested */
  ok: boolean;
  /**
   * Why not, or a remark: "already", "not-found", "protected", "not-final", "recent",
   * "before-pivot", "too-large", "not-kept", "undone", "unprofitable", "covers", "bad-input".
   */
  code?: string;
  /** the same as a sentence */
  reason?: string;
  /** Tokens by which the view became smaller; negative if something is shown again. */
  saved: number;
}

/** EndTurn says that the model called no more tools. */
export interface EndTurn {
  /** Session is the id of a session. */
  session: string;
}

/** Explain says why a part is shown, left out, protected or about to go. */
export interface Explain {
  /** Session is the id of a session. */
  session: string;
  /** Part names it, "" for all parts. */
  part?: string;
}

/** Explained are parts, in the order of the log. */
export interface Explained {
  parts: ReportExplanation[];
}

/** Failure is why a request was not done. */
export interface Failure {
  /**
   * Code is a number of JSON-RPC: see the table of numbers in docs/bindings.md. -32000 is what the
   * engine refused or could not do; data.code then says which.
   */
  code: number;
  /** Message says what failed and why, for people. */
  message: string;
  data: FailureData;
}

/** FailureData is what a program branches on, and what a person can do. */
export interface FailureData {
  /**
   * Code is the reason as a word: "not-found", "nothing-to-fold", "no-progress", "bad-input",
   * "busy", "cancelled", "store-failed" and others.
   */
  code: string;
  /** Hint is what to do about it, a sentence. */
  hint?: string;
  /** Op is what the engine was doing: "compact". */
  op?: string;
  /** Session is the id of the session concerned. */
  session?: string;
}

/** Fork begins a session with the log of another one. */
export interface Fork {
  /** Session is the id of a session. */
  session: string;
  /** Before is the id of the message before which it ends, "" for all of it. */
  before?: string;
}

/**
 * Initialize is the first request of a client: which versions of the protocol it speaks, and what
 * it can do for the engine.
 */
export interface Initialize {
  /**
   * Protocols are the versions of the protocol that the client speaks. The server answers with the
   * newest that both speak, and with an error if there is none.
   */
  protocols: number[];
  /** Client is the name and version of the client, for people who read a log. */
  client?: string;
  /**
   * Summarize says that the client writes summaries with a model of its own: the server sends it
   * requests "summarize", with messages in this format. "" leaves them to the configuration.
   */
  summarize?: string;
}

/** Initialized is what the server is and can do. */
export interface Initialized {
  /** Protocol is the version that is spoken from now on. */
  protocol: number;
  /** Server is the version of winnow. */
  server: string;
  /** Methods are the requests that the server takes. */
  methods: string[];
  /** Formats are the formats in which messages are taken and given. */
  formats: string[];
  /** Policy is the policy in force. */
  policy: string;
  /** Store is the file in which the sessions are kept. */
  store?: string;
  /** MaxLine is how many bytes a line may have. */
  maxLine: number;
  /** MaxWaiting is how many requests may be without an answer at a time. */
  maxWaiting: number;
}

/** Inspect reports where the tokens are, what can go, how full the window is, and what it cost. */
export interface Inspect {
  /** Session is the id of a session. */
  session: string;
}

/** List lists the sessions of the store. */
export interface List {
}

/** Listed are the sessions, the one that was changed last first. */
export interface Listed {
  sessions: Listing[];
}

/** Listing is one session of the store. */
export interface Listing {
  session: string;
  title: string;
  directory?: string;
  parent?: string;
  model?: string;
  created: number;
  updated: number;
  /** Messages is how many messages the log has. */
  messages: number;
}

/** Log reads the log as it was written: nothing is left out, and nothing is folded. */
export interface Log {
  /** Session is the id of a session. */
  session: string;
  /**
   * From is the position of the first message that is wanted: 0 is the first of the log, -1 the
   * last.
   */
  from?: number;
}

/** Logged is a stretch of a log. */
export interface Logged {
  /** Total is how many messages the log has. */
  total: number;
  /** Messages are those from the position asked for on, in the form in which winnow keeps them. */
  messages: SessionMessage[];
}

/** Message is a message in the format "plain". */
export interface Message {
  /**
   * ID is made if it is "". An id that the log has is an error with the code "already", and
   * nothing of the request is stored: with ids of its own a client can send a request again.
   */
  id?: string;
  role: string;
  /** Text is short for one part of text, before Parts. */
  text?: string;
  parts?: SessionPart[];
  /** Model is who wrote it, "provider/id". */
  model?: string;
  /** Finish is why the model stopped. */
  finish?: string;
}

/** Nothing is the result of what has none. */
export interface Nothing {
}

/**
 * Notified is what a notification "event" tells. An event may come before or after the answer to
 * the request that caused it; the events of one session come in their order.
 */
export interface Notified {
  event: WinnowEvent;
  /** Dropped is how many events were dropped until now because the client did not read. */
  dropped?: number;
}

/**
 * Observe tells what the provider reported for the newest step, once the results of its calls are
 * in the log; or, with rejection, how it refused the request. The engine prunes and folds if it
 * must.
 */
export interface Observe {
  /** Session is the id of a session. */
  session: string;
  /** Usage is what the provider reported, in the form of As. */
  usage?: unknown;
  /**
   * As is the format of Usage: the provider's own object "usage" (Gemini: "usageMetadata"), or
   * with "plain" that of winnow: {input, output, reasoning, cache: {read, write}}.
   */
  as?: string;
  /**
   * Rejection is how the provider refused the request. If it was not because of its length, the
   * error has the code "bad-input" and nothing is done.
   */
  rejection?: Rejection;
}

/** Outcome is what the engine did about a request, a step, a turn or a rejection. */
export interface Outcome {
  /** Verdict is how full the window is, after a step. */
  verdict?: BudgetVerdict;
  /** Pruned and Compacted are the receipts of what was done. */
  pruned?: PivotReceipt;
  compacted?: PivotReceipt;
  /**
   * Compact says that the window overflows and nothing was folded, because compaction.auto is off:
   * call compact before the next request.
   */
  compact?: boolean;
  /**
   * Continues says that the past was folded and the engine appended a message that asks the model
   * to go on: make another request even if the last answer called no tool.
   */
  continues?: boolean;
  /**
   * Prepare says that a fold is near: call prepare beside the work, and compact with prepared
   * between two steps, if no request is to wait for the summary.
   */
  prepare?: boolean;
  /** Refusals say what was not done, and why. */
  refusals: RuleRefusal[];
}

/** Pin keeps a part, a message or a text through every pruning and compaction. */
export interface Pin {
  /** Session is the id of a session. */
  session: string;
  /** Part, Message and Text: one of them is given. */
  part?: string;
  message?: string;
  text?: string;
  /** Note is why, for people. */
  note?: string;
}

/** Pinned is a pin that is in the store. */
export interface Pinned {
  pin: RulePin;
}

/** Carried counts what the engine wrote below a summary. */
export interface PivotCarried {
  /** pins */
  pins: number;
  /** instructions of the user */
  constraints: number;
  /** messages of the user */
  userMessages: number;
  /** entries of the list of tasks */
  todos: number;
  /** skills */
  skills: number;
  /** files */
  files: number;
  /** failures */
  failures: number;
  /** calls and pieces of files, verbatim */
  hot?: number;
  /** parts that can be recalled */
  recallable: number;
  /** tokens of all of it */
  tokens: number;
}

/**
 * Money is what a compaction or a pruning comes to in US dollars, by the price of the model that
 * reads the session. What is not known is nil.
 */
export interface PivotMoney {
  /** the model that reads the session */
  model: string;
  /**
   * US dollars that each later step saves: the removed tokens, at the price of reading them from
   * the cache.
   */
  step: number | null;
  /** Tokens after the first change that are written to the provider's cache again. */
  rewritten: number;
  /**
   * US dollars that rewriting costs once, beyond reading these tokens; nothing if the cache is
   * cold.
   */
  rewriting: number | null;
  /** US dollars for the summary calls */
  summary: number | null;
  /** Steps after which it has paid for itself, 0 at once; null for never, or if it is unknown. */
  steps: number | null;
}

/**
 * Receipt records one compaction or commit: before, after, what went, what it cost, how to undo
 * it. Token figures describe the rendered view, placeholders included, as the session's counter
 * measures it.
 */
export interface PivotReceipt {
  /** its id, which "winnow undo SRC ID" takes */
  id: string;
  /** id of the session */
  sessionID: string;
  /** "compaction", "pruning", "restore" or "pin" */
  kind: string;
  /** when it was made */
  time: number;
  /** the policy in force */
  policy: string;
  /**
   * Why it was made: "manual"; "turn" and "step" (one ended); "threshold" (the window overflows);
   * "rejected" (the provider rejected the request as too long); "background" (the window was about
   * to overflow, and the summary had been written while the work went on); "cold" (the provider's
   * cache held nothing of the prompt, so it cost nothing extra); "pays" (it saves more than it
   * costs to write the prompt to the cache again); "first-send" (no request had it yet, and it
   * says nothing new); "asked" (the agent asked for it, and its turn had ended); "discard";
   * "distill"; "restore"; "pin"; or "imported" for a pivot or a restore that came with a file.
   */
  trigger: string;
  /** for a pruning: messages that the log had at the time */
  log?: number;
  /** messages in the window before */
  messagesBefore: number;
  /** messages in the window afterwards */
  messagesAfter: number;
  /** tokens of the rendered view before */
  tokensBefore: number;
  /** tokens of the rendered view afterwards */
  tokensAfter: number;
  /** The budget of the view in tokens; omitted if it is unlimited. */
  usable?: number;
  /**
   * Tokens of the model for each that the counter estimates, as learned from reports by then. All
   * tokens of the receipt are scaled by it; omitted, it is 1.
   */
  scale?: number;
  /** id of the marker of the pivot */
  marker?: string;
  /** id of the message with the summary */
  summary?: string;
  /** id of the first message that stays verbatim */
  tailStart?: string;
  /** messages that the summary replaces */
  folded?: number;
  /** messages that stay verbatim */
  tail?: number;
  /** Tokens that the summary now replaces, by kind as in "tokens.byKind" of "inspect". */
  gone?: Record<string, number>;
  /** the counts of everything carried over under the summary */
  carried?: PivotCarried;
  /** Who wrote the summary: "offline", "provider/model", or "hook". */
  summarizer?: string;
  /** The usage that the provider reported for each summary call, even a failed one. */
  usage?: SessionUsage[];
  /** US dollars for all summary calls */
  cost?: number;
  /** seconds that it took */
  duration?: number;
  /** Whether the summary was written before it was needed; its cost was recorded then. */
  prepared?: boolean;
  /** Sentences: how it was made to fit, which text was rejected, which model was asked instead. */
  notes?: string[];
  /**
   * Words that a model wrote into the summary although they occur nowhere in the summarised
   * messages. The summary shows them struck through.
   */
  struck?: PivotStruck[];
  /** The elisions that were committed with it; undo removes them, redo commits them again. */
  committed?: RuleElision[];
  /**
   * The elisions that it replaced, for example a summary by a newer one, or that a restore or a
   * pin took back; undo brings them back.
   */
  replaced?: RuleElision[];
  /** tokens by which the view became smaller */
  saved?: number;
  /**
   * For a pruning: tokens of the messages in the provider's cache that must be written to it
   * again.
   */
  rewritten?: number;
  /** For a restore: ids of the folded parts that are now quoted after the summary. */
  quoted?: string[];
  /** for a pin: the pin */
  pinned?: RulePin;
  /**
   * For a compaction: the receipts of restores whose parts did not fit; these parts are folded
   * again.
   */
  letGo?: string[];
  /** its savings and its cost in US dollars */
  money?: PivotMoney;
  /**
   * Parts with reasoning that an undo or redo left out: their model takes reasoning only after the
   * exact prompt that it was made for. They are shown again when that undo or redo is taken back.
   */
  unbound?: number;
  /** the command that takes it back */
  undo?: string;
}

/** Struck is one claim of a summary that nothing supports. */
export interface PivotStruck {
  /** "path", "command", "identifier" or "number" */
  kind: string;
  /** the words */
  text: string;
}

/**
 * Prepare writes the summary of a fold that is near, beside the other requests of the session.
 * Nothing is stored.
 */
export interface Prepare {
  /** Session is the id of a session. */
  session: string;
}

/** Preview says what compact would do, without asking a model and without writing anything. */
export interface Preview {
  /** Session is the id of a session. */
  session: string;
  /** Focus and To are those of compact. */
  focus?: string;
  to?: number;
}

/** Prune leaves out what can go. If compaction.prune is off it does nothing, unless it is forced. */
export interface Prune {
  /** Session is the id of a session. */
  session: string;
  /** Force prunes although compaction.prune is off. */
  force?: boolean;
}

/**
 * PruneMessages asks for the messages that are to be sent in the place of a conversation's. It
 * keeps no session: each request hands in the whole conversation, or what came back with the
 * messages since.
 */
export interface PruneMessages {
  /**
   * Messages are those of Anthropic's Messages API, OpenAI's Chat Completions or Responses, or
   * Gemini's.
   */
  messages: unknown[];
  /**
   * Model is the model that reads them, "provider/id": its window and its prices decide. Default:
   * a model of 128,000 tokens without known prices.
   */
  model?: string;
  /** Besides is how many tokens of each request are not messages: the system prompt and the tools. */
  besides?: number;
  /** Keep leaves out old results of tools, and never folds the past into a summary. */
  keep?: boolean;
}

/** PrunedMessages are the messages to send. */
export interface PrunedMessages {
  messages: unknown[];
  /**
   * From is, for each message, the place from 0 of the one that was handed in and stays as it is;
   * -1 for one that was changed, or that is new: the summary.
   */
  from: number[];
  sent: ReportSent;
}

/** Read returns a part as it was written, whatever the model is shown of it. */
export interface Read {
  /** Session is the id of a session. */
  session: string;
  /** Part is the id of the part, the id of its call, or its handle. */
  part: string;
}

/** Receipted is what was done. */
export interface Receipted {
  /** Receipt is missing if nothing was done. */
  receipt?: PivotReceipt;
}

/** Redo makes count again what was undone. */
export interface Redo {
  /** Session is the id of a session. */
  session: string;
  /**
   * Receipt is the id of the receipt, or of the marker of a compaction; "" is the one that was
   * undone last, whatever it is for.
   */
  receipt?: string;
}

/** Rejection is how a provider refused a request, as far as it is known. */
export interface Rejection {
  /** Status is that of HTTP. */
  status?: number;
  /** Code is the code or type of the error. */
  code?: string;
  /** Message is the message of the error. */
  message?: string;
  /** Body is the response as it came. */
  body?: string;
}

/**
 * Report says where the tokens of a session went, what can go, and what the window looks like now.
 * Token figures are estimates by the session's counter.
 */
export interface Report {
  /** id of the session */
  id: string;
  /** title of the session */
  title: string;
  /** "provider/id" of the model that reads it */
  model: string;
  /** name of the counter that estimates tokens */
  counter: string;
  /** the policy in force */
  policy: string;
  /** Messages: for a file as in "counts", for a session of the store those of its log. */
  messages: number;
  /** model requests */
  steps: number;
  /** turns of the user */
  turns: number;
  /** tool calls, counted as "messages" */
  toolCalls: number;
  /** tool results, counted as "messages" */
  toolResults: number;
  /** the whole log as it was written, with nothing left out */
  tokens: ReportTokens;
  /**
   * US dollars for all requests in the file, each at the price of its own model and counted once;
   * "bill" has the details. A lower bound if "bill" has requests that are "unpriced" or
   * "unreported"; null if nothing is known about any of them.
   */
  cost: number | null;
  /** the cost by purpose */
  bill: BillSums;
  /** The models without a known price, with their service if it is not the usual one. */
  unpriced?: string[];
  /**
   * The cost by the content that it was paid for, in US dollars; omitted if no cost is known, and
   * for files that are too large to be held.
   */
  costs?: ReportCosts;
  /** Requests to models for summaries, including those that failed and stand in no log. */
  summaries?: ReportSummaryCalls;
  /** the messages that count now */
  window: ReportWindow;
  /** Elisions that a rule found and that are not committed. */
  candidates: ReportCandidate[];
  /**
   * Parts that could be left out, by rule, the largest sum first; includes candidates that are not
   * listed.
   */
  byRule: ReportRuleSum[];
  /**
   * Candidates that are not listed, by rule: for a file of 64 MB and more only the largest 5,000
   * are listed.
   */
  omitted?: ReportRuleSum[];
  /** parts that rules found and let stay */
  refusals: RuleRefusal[];
  /** The user's instructions that are in force; every summary keeps them word for word. */
  constraints: string[];
  /** Detected instructions that were dismissed; "winnow protect SRC" lists them with their numbers. */
  dismissed: string[];
  /** the pins of the session */
  pins: RulePin[];
  /**
   * Content that the agent got back by "winnow recall", or the tool "recall" of "winnow mcp",
   * after it had been left out, oldest first: "part", "time", and "tokens" of the content.
   */
  missed?: SessionMissed[];
  /** the timeline, one entry for each message of the log */
  strata: ReportStratum[];
}

/** Candidate is an elision that a rule found and nobody committed. */
export interface ReportCandidate {
  /** id of the part */
  part: string;
  /** id of its message */
  message: string;
  /**
   * The field of the part that is left out or shortened: "output", "error", "input",
   * "attachments", "text", "part".
   */
  field: string;
  /** name of the rule that found it */
  rule: string;
  /** the reason, a sentence */
  because: string;
  /** Ids of the parts that make this one redundant, separated by spaces; these parts stay visible. */
  by?: string;
  /**
   * For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
   * made to count again, since it was made, separated by spaces.
   */
  of?: string;
  /** The exact text that stands in its place, for as long as it is left out. */
  shown?: string;
  /**
   * Tokens, less those of the text that is shown instead. With the counter that learns from
   * reported usage each value is rounded, so their sum may differ from that of the view by a few
   * tokens.
   */
  saves: number;
  /** when it was committed; a candidate has no time */
  time?: number;
  /** the tool */
  tool?: string;
  /** The file, command or address that the tool was called on. */
  target?: string;
  /** When it may be left out, in a few words: "with the next request", "pays in about 61 steps". */
  when?: string;
  /** why it is not left out with the next request */
  wait?: ScheduleWait;
}

/**
 * Costs says what the money of a session went to. Amounts are US dollars. Each request is billed
 * by the usage that the log reports, as bill.Sums says, and each bill is divided into what was
 * paid for the prompt (read from the provider's cache, written to it, neither) and for the answer.
 * What a prompt cost is shared among all that it carried, in proportion to the tokens that each
 * had in that request, by the session's counter: the parts of the log that were in the window at
 * the time, as much of them as was shown, and what requests carry besides (system prompt, tools)
 * where its size is known. What an answer cost belongs to the turn and the model that wrote it,
 * and is of the kind [Answers]. So the amounts of ByKind add up to Total, which is the cost of
 * Report.Bill; so do those of ByModel, and those of ByTurn with Beside. Of ByTool and ByFile each
 * is a share of the prompts. Requests of unknown cost are in none of them.
 */
export interface ReportCosts {
  /** all requests whose cost is known; "split" divides it */
  total: number;
  /** the total, divided by use of the provider's cache */
  split: BillSplit;
  /**
   * By kind: the kinds of "tokens.byKind", for carrying them, and "system, tools", "answers",
   * "writing summaries", "sub-agents", "left branches", "in vain", "searches". They add up to
   * "total".
   */
  byKind: Record<string, number>;
  /** The inputs and outputs of calls, for carrying them, by tool. */
  byTool: Record<string, number>;
  /** The inputs and outputs of calls, for carrying them, by the path that they name. */
  byFile: Record<string, number>;
  /** By the model that answered; they add up to "total". */
  byModel: Record<string, number>;
  /** The turns with requests, oldest first. With "beside" they add up to "total". */
  byTurn: ReportTurnCost[];
  /**
   * Requests of no turn: sub-agents, abandoned branches, summaries that winnow asked for, failed
   * requests.
   */
  beside?: number;
  /** every request, oldest first */
  requests: ReportRequest[];
}

/** Cut is a window that the server seems to have and does not tell. */
export interface ReportCut {
  /** steps in a row in which that is so */
  steps: number;
  /** tokens that were added meanwhile, by estimate */
  appended: number;
  /** tokens of the largest prompt that it reported */
  reported: number;
  /** About how many tokens its window has: the usual size just above. */
  window: number;
  /** the observation, and what to do, as a sentence */
  text: string;
}

/** Explanation says of one part why it is shown, elided, protected or a candidate. */
export interface ReportExplanation {
  /** id of the part */
  part: string;
  /** id of its message */
  message: string;
  /** Its short name, which commands accept in place of the id. */
  handle?: string;
  /** type of the part */
  type: string;
  /** for a call: the tool */
  tool?: string;
  /** For a call: the file, command or address that it was called on. */
  target?: string;
  /** The model request that it belongs to, 1-based; 0 before the first. */
  step: number;
  /** its turn, 1-based; 0 before the first */
  turn: number;
  /** its tokens in the log */
  tokens: number;
  /** Its tokens in the view; for a folded part that is shown again, those of the quotation. */
  shownTokens: number;
  /** its zone, as in "strata.zones" of "inspect" */
  zone: string;
  /** The rule that left it out, would leave it out, or found it and let it stay. */
  rule?: string;
  /** the reason, a sentence */
  because: string;
  /** The committed elisions of this part, each of another field. */
  elisions: ReportReason[];
  /** the elisions that rules would make */
  candidates: ReportReason[];
  /** the first of the candidates */
  candidate?: RuleElision;
  /** why rules that found it let it stay */
  refusals: RuleRefusal[];
  /** parts that were left out because this one shows the same */
  standsFor: ReportRef[];
  /** Parts that would be left out because this one shows the same. */
  wouldStandFor: ReportRef[];
  /** the protection that keeps it */
  kept?: ReportKept;
  /** whether it is pinned */
  pinned: boolean;
  /** for a folded part that is shown again: where */
  quoted?: ReportQuoted;
  /** the command that shows it whole again */
  undo?: string;
  /** The text that the model sees now: the result of a call, or the text of another part. */
  text: string;
  /** its texts; for attachments, names and types */
  pieces: ReportPiece[];
}

/** Kept says what protects a part. */
export interface ReportKept {
  /**
   * "pin", "tool", "path", "age" (too new for the rule that found it), "turns" (in the last
   * turns), "newest" (the newest tool output) or "tail" (in the tail of a compaction).
   */
  by: string;
  /** The name or pattern that matched, or the id of the marker. */
  what?: string;
  /** the configuration key that says so */
  switch?: string;
}

/** LeftOut is a decision to send less of one part, and the call that the part belongs to. */
export interface ReportLeftOut {
  /** "" for a part that is no call */
  callID: string;
  /** name of the tool, "" for a part that is no call */
  tool: string;
  /** id of the part */
  part: string;
  /** id of its message */
  message: string;
  /**
   * The field of the part that is left out or shortened: "output", "error", "input",
   * "attachments", "text", "part".
   */
  field: string;
  /** name of the rule that found it */
  rule: string;
  /** the reason, a sentence */
  because: string;
  /** Ids of the parts that make this one redundant, separated by spaces; these parts stay visible. */
  by?: string;
  /**
   * For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
   * made to count again, since it was made, separated by spaces.
   */
  of?: string;
  /** The exact text that stands in its place, for as long as it is left out. */
  shown?: string;
  /**
   * Tokens, less those of the text that is shown instead. With the counter that learns from
   * reported usage each value is rounded, so their sum may differ from that of the view by a few
   * tokens.
   */
  saves: number;
  /** when it was committed; a candidate has no time */
  time?: number;
}

/** Miss is what a request had to pay for anew because the cache no longer had it. */
export interface ReportMiss {
  /**
   * Why: "model" (another model had answered before), "idle" (a pause longer than the cache
   * lives), "compaction", "edit" (the past was pruned or changed), "beginning" (not even the
   * beginning was there, as when tools or the system prompt change, or the provider drops its
   * cache), "unknown".
   */
  cause: string;
  /**
   * Tokens that the prompt before had already, and that the cache should have had. Tokens that are
   * new to the prompt are no miss.
   */
  tokens: number;
  /** US dollars that they cost beyond reading them from the cache; 0 if no price is known. */
  cost: number;
  /** milliseconds since the request before */
  idle?: number;
}

/** Piece is one text of a part: as the log has it, and as the model is shown it. */
export interface ReportPiece {
  /** the field of the part, as in an elision */
  field: string;
  /** the text as in the log */
  log: string;
  /** The text as the model sees it, or would see it if it were not folded. */
  shown: string;
  /** The text as the model would see it if the candidates were committed. */
  would: string;
}

/**
 * Quoted is how a folded part is shown again: by a message behind the summary, because it was
 * restored or is pinned.
 */
export interface ReportQuoted {
  /** id of the message that quotes it */
  message: string;
  /** id of the receipt of the restore, or of the pin */
  by: string;
  /** whether it is a pin */
  pin?: boolean;
  /** when it was restored or pinned */
  time: number;
  /** the command that takes it back */
  undo: string;
}

/**
 * Reason is an elision of a part, one that stands or one that a rule would make, with what it
 * takes to judge it.
 */
export interface ReportReason {
  /** id of the part */
  part: string;
  /** id of its message */
  message: string;
  /**
   * The field of the part that is left out or shortened: "output", "error", "input",
   * "attachments", "text", "part".
   */
  field: string;
  /** name of the rule that found it */
  rule: string;
  /** the reason, a sentence */
  because: string;
  /** Ids of the parts that make this one redundant, separated by spaces; these parts stay visible. */
  by?: string;
  /**
   * For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
   * made to count again, since it was made, separated by spaces.
   */
  of?: string;
  /** The exact text that stands in its place, for as long as it is left out. */
  shown?: string;
  /**
   * Tokens, less those of the text that is shown instead. With the counter that learns from
   * reported usage each value is rounded, so their sum may differ from that of the view by a few
   * tokens.
   */
  saves: number;
  /** when it was committed; a candidate has no time */
  time?: number;
  /** the parts that make it redundant */
  covering: ReportRef[];
  /** the configuration key that turns the rule off */
  switch?: string;
  /** Steps that have begun since it was committed, as far as the log has times. */
  stepsSince: number;
  /** Turns that have begun since it was committed, as far as the log has times. */
  turnsSince: number;
  /** id of the receipt of the commit */
  receipt?: string;
  /** How many parts that commit left out or shortened, including this one. */
  together?: number;
  /** the command that undoes all of them */
  undo?: string;
  /** For a candidate: when it may be left out, or what it waits for. */
  when?: string;
  /**
   * For a candidate: whether it was left out before and restored. Only pruning on demand leaves it
   * out again.
   */
  restored?: boolean;
}

/** Ref names a part of the log for people. */
export interface ReportRef {
  /** id of the part */
  part: string;
  /** its short name */
  handle?: string;
  /** type of the part */
  type: string;
  /** for a call: the tool */
  tool?: string;
  /** For a call: the file, command or address that it was called on. */
  target?: string;
  /** its step; 0 before the first */
  step: number;
}

/** Request is one request that a session took. */
export interface ReportRequest {
  /** when it was made */
  time: number;
  /** "step", "summary", "agent" (a sub-agent) or "left" (beside the session). */
  kind: string;
  /** the model */
  model: string;
  /** its bill */
  bill: Bill;
  /** whether it was paid for in vain */
  failed?: boolean;
  /** id of the message that answers it */
  message?: string;
  /** the turn of that message, 1-based */
  turn?: number;
  /** the step of that message, 1-based */
  step?: number;
  /** its cost, divided as "costs.split" is */
  split?: BillSplit;
  /**
   * The part of the prompt that the provider's cache no longer had; omitted if it had everything
   * that it could have had.
   */
  miss?: ReportMiss;
}

/** RuleSum sums up candidates of one rule. */
export interface ReportRuleSum {
  /** the rule */
  rule: string;
  /** how many parts */
  parts: number;
  /**
   * Tokens that it would save to leave them out, less those of the text that would be shown
   * instead.
   */
  saves: number;
  /** When the first of them may be left out, in a few words; omitted if it is not known. */
  when?: string;
}

/**
 * Sent says how much of a conversation is sent, and what is left out. Sizes are estimates in
 * tokens, without system prompt and tools.
 */
export interface ReportSent {
  /** the messages as they were handed in */
  before: number;
  /** the messages that are sent */
  after: number;
  /** parts of messages that are sent, in their order */
  leftOut: ReportLeftOut[];
  /**
   * Folded is how many messages the summary stands for, and Summary is its text; 0 and "" for
   * none.
   */
  folded: number;
  summary: string;
}

/** Stratum is one message in the timeline. */
export interface ReportStratum {
  /** id of the message */
  message: string;
  /** "user" or "assistant" */
  role: string;
  /** its turn, 1-based; 0 before the first */
  turn: number;
  /**
   * Tokens of the log by zone: "folded", "summary", "pruned", "prunable", "protected", "talk",
   * "active".
   */
  zones: Record<string, number>;
  /**
   * US dollars for the requests that it answers; omitted if it answers none, or their cost is
   * unknown.
   */
  cost?: number;
  /** The beginning of the user's text, where a turn begins. */
  written?: string;
  /** whether it is the marker of an active pivot */
  pivot?: boolean;
  /** How many messages the entry stands for, if more than one. */
  messages?: number;
}

/** SummaryCalls counts the requests to models for summaries. */
export interface ReportSummaryCalls {
  /** how many requests */
  calls: number;
  /** how many of them failed */
  failed: number;
  /** the usage of all of them */
  usage: SessionUsage;
  /** US dollars for those whose cost is known; null if nothing is known. */
  cost: number | null;
}

/** Tokens itemises the whole log as it was written, nothing elided. */
export interface ReportTokens {
  /** tokens of the whole log */
  total: number;
  /**
   * Tokens by kind: "user", "synthetic", "assistant", "reasoning", "tool input", "tool output",
   * "file", "summary".
   */
  byKind: Record<string, number>;
  /** tokens by tool, input and output together */
  byTool: Record<string, number>;
  /** tokens of the calls that name a path, by path */
  byFile: Record<string, number>;
}

/** TurnCost is what a turn cost: all its requests. */
export interface ReportTurnCost {
  /** the turn, 1-based; 0 before the first */
  turn: number;
  /** its requests */
  requests: number;
  /** their cost */
  cost: number;
}

/**
 * Verdict is what the policy in force makes of the newest usage that was reported in the window.
 * It is by the policy's own formula: that of classic and aggressive adds input, cache reads and
 * output up (S001 phase 1), that of balanced cache writes and what came since as well.
 */
export interface ReportVerdict {
  /** whether the window does not fit */
  overflow: boolean;
  /** tokens that were counted */
  total: number;
  /** Tokens that they were compared with: the budget, or the threshold below it. */
  usable: number;
  /**
   * The reason as a word: "fits", "overflow", "auto-off" (it overflows, and "compaction.auto" is
   * off, so nothing is folded), "doubtful-reports" (the report cannot be of one request),
   * "unknown-limits" (no limit is known), "unlimited" (the configuration says that there is none).
   */
  code: string;
  /** the reason as a sentence */
  reason: string;
  /** id of the message that it was reported for */
  step?: string;
  /** Whether something was left out, or shown again, since: the next report will be another one. */
  stale?: boolean;
}

/** Window is what counts now. */
export interface ReportWindow {
  /** messages in the window */
  messages: number;
  /** their tokens, as rendered */
  tokens: number;
  /** Tokens of system prompt and tools, derived from the first reported step; 0 is unknown. */
  overhead: number;
  /** tokens that the model accepts; 0 is unknown */
  context: number;
  /** tokens that may be used; 0 is unlimited */
  usable: number;
  /**
   * Whether it overflows: by "window.verdict", unless that is stale; without one, whether tokens
   * and overhead together are over the usable budget (under "balanced", reach it).
   */
  overflow: boolean;
  /**
   * The judgement of the policy in force about the newest usage that was reported in the window,
   * by its own formula: "classic" and "aggressive" add input, cache reads and output, "balanced"
   * cache writes and an estimate of later messages as well. The size of the next request is
   * "window.tokens" and "window.overhead".
   */
  verdict?: ReportVerdict;
  /**
   * A sign that the server drops the beginning of prompts: while the log grew, the prompts that it
   * reported did not.
   */
  cut?: ReportCut;
  /** which limits were assumed, and why */
  reason?: string;
  /** parts that are left out or shortened */
  elided: number;
  /** tokens that this saves */
  elidedTokens: number;
  /** id of the marker that the window begins with */
  pivot?: string;
  /** messages of the log before the window */
  folded: number;
  /** id of a marker that waits to be executed */
  pending?: string;
}

/** Restore shows parts whole again that were left out or folded. */
export interface Restore {
  /** Session is the id of a session. */
  session: string;
  /** Parts are ids of parts, ids of calls, or handles. */
  parts: string[];
}

/** Result is what a call gave back, or how far it has come. */
export interface Result {
  /** Call is the id of the call, or of its part; of several calls with one id the newest is meant. */
  call: string;
  /** Output is what it gave back; Error, if it is not "", is why it failed. */
  output?: string;
  error?: string;
  /** Status is "completed" or "error" if it is "", or "running" for one that has not ended. */
  status?: string;
  /** Title is for people. */
  title?: string;
  /** Metadata is an object of the host's own. */
  metadata?: unknown;
  /** Attachments are parts of the type "file" that the tool returned. */
  attachments?: SessionPart[];
}

/** Elision is the decision to show less of one part. */
export interface RuleElision {
  /** id of the part */
  part: string;
  /** id of its message */
  message: string;
  /**
   * The field of the part that is left out or shortened: "output", "error", "input",
   * "attachments", "text", "part".
   */
  field: string;
  /** name of the rule that found it */
  rule: string;
  /** the reason, a sentence */
  because: string;
  /** Ids of the parts that make this one redundant, separated by spaces; these parts stay visible. */
  by?: string;
  /**
   * For reasoning with the rule "undo": ids of the compactions and prunings that were undone, or
   * made to count again, since it was made, separated by spaces.
   */
  of?: string;
  /** The exact text that stands in its place, for as long as it is left out. */
  shown?: string;
  /**
   * Tokens, less those of the text that is shown instead. With the counter that learns from
   * reported usage each value is rounded, so their sum may differ from that of the view by a few
   * tokens.
   */
  saves: number;
  /** when it was committed; a candidate has no time */
  time?: number;
}

/** Key names what an elision is about: no two elisions of a ledger share it. */
export interface RuleKey {
  /** id of the part */
  part: string;
  /** the field of it, as in an elision */
  field: string;
}

/**
 * Pin is a part, a whole message, or a text that must survive every elision and every pivot
 * verbatim.
 */
export interface RulePin {
  /** its id */
  id: string;
  /** id of the part that is pinned */
  part?: string;
  /** Id of the message that is pinned, with all its parts, even those that are added later. */
  message?: string;
  /** the text that is pinned */
  text?: string;
  /** a note by the user */
  note?: string;
  /** when it was pinned */
  time?: number;
  /** "agent" if an agent pinned it by itself, through MCP. */
  by?: string;
}

/** Refusal says why something was left alone. Part is empty when it speaks of the whole session. */
export interface RuleRefusal {
  /**
   * The reason as a word: "below-minimum", "protected", "disabled", …; "unheeded" if a running
   * OpenCode would send it all the same.
   */
  code: string;
  /** the rule that refused */
  rule?: string;
  /** id of the part */
  part?: string;
  /** the reason as a sentence */
  reason: string;
  /** the tokens at stake */
  tokens?: number;
}

/** Wait says why something that was found is not committed yet. The zero value is of what is. */
export interface ScheduleWait {
  /** the reason as a word */
  code: string;
  /** parts in the batch that would pay soonest */
  parts: number;
  /** tokens that this batch would save at each step */
  saves: number;
  /** Tokens that would be written to the provider's cache again for it, once. */
  rewrites: number;
  /** Steps, from now on, after which the savings have paid for the rewrite. */
  steps?: number;
}

/** Schema is this protocol as a JSON Schema. */
export interface Schema {
}

/** CacheUsage is the part of a prompt that the provider's cache served or took in, in tokens. */
export interface SessionCacheUsage {
  read?: number;
  write?: number;
  /**
   * Write1h is how much of Write stays for an hour, where the provider tells: that is dearer than
   * its usual lifetime.
   */
  write1h?: number;
  [further: string]: unknown;
}

/** Message is one entry of the log: what is known about it, and its parts. */
export interface SessionMessage {
  info: SessionMessageInfo;
  parts: SessionPart[];
  [further: string]: unknown;
}

/** MessageInfo describes a message. Fields that only one role has are empty for the other. */
export interface SessionMessageInfo {
  id: string;
  sessionID: string;
  role: string;
  time: SessionMessageTime;
  agent?: string;
  /** Of a user message: the model that is to answer. */
  model?: SessionModelRef;
  /** Of an assistant message. */
  parentID?: string;
  modelID?: string;
  providerID?: string;
  variant?: string;
  mode?: string;
  path?: SessionPath;
  /** US dollars, summed over the steps of the message */
  cost?: number;
  /** of the last step */
  tokens?: SessionUsage;
  /** why the model stopped; empty while it has not */
  finish?: string;
  /**
   * Repeats is the id of an earlier message of the same request, which has its usage: this one
   * took nothing more.
   */
  repeats?: string;
  /** {name, data} */
  error?: unknown;
  /**
   * Summary is true on the assistant message that answers a marker. On a user message it is an
   * object for people (title, body, diffs), which has no bearing on the context.
   */
  summary?: unknown;
  [further: string]: unknown;
}

/** MessageTime says when a message was begun and finished. */
export interface SessionMessageTime {
  created: number;
  completed?: number;
  [further: string]: unknown;
}

/** Missed is a part that was left out and then needed. */
export interface SessionMissed {
  /** id */
  part: string;
  time: number;
  /** of what was given back */
  tokens: number;
}

/** ModelRef names a model. */
export interface SessionModelRef {
  /** ID is set instead of ModelID in a session's Info; the format has both spellings. */
  id?: string;
  providerID: string;
  modelID?: string;
  /** a named set of options, such as a reasoning effort */
  variant?: string;
  [further: string]: unknown;
}

/** Part is one piece of a message. It is flat, as its JSON is: which fields count is told by Type. */
export interface SessionPart {
  id?: string;
  sessionID?: string;
  messageID?: string;
  type: string;
  /** Text of a text or reasoning part. */
  text?: string;
  /** written by a program in the user's name */
  synthetic?: boolean;
  /** shown to people, never sent */
  ignored?: boolean;
  /** Metadata of a text or reasoning part: what the provider wants back, such as signatures. */
  metadata?: unknown;
  time?: SessionSpan;
  /** A file part. */
  mime?: string;
  filename?: string;
  /** data:, file: or http(s): */
  url?: string;
  /** Source says where a file or agent part was mentioned; its shape differs by kind. */
  source?: unknown;
  /** A tool part: a call and its result in one, so that nothing can separate them. */
  callID?: string;
  tool?: string;
  state?: SessionToolState;
  /** Step markers, snapshots and patches. */
  snapshot?: string;
  /** of step-finish */
  reason?: string;
  /** US dollars */
  cost?: number;
  tokens?: SessionUsage;
  hash?: string;
  files?: string[];
  /** Agents, subtasks, retries. */
  name?: string;
  prompt?: string;
  description?: string;
  agent?: string;
  attempt?: number;
  error?: unknown;
  /** A compaction part: "compact here". */
  auto?: boolean;
  /** the provider rejected the request as too long */
  overflow?: boolean;
  /** the first message that stays verbatim */
  tail_start_id?: string;
  [further: string]: unknown;
}

/** Path holds the folders in which a message was written. */
export interface SessionPath {
  cwd: string;
  root: string;
  [further: string]: unknown;
}

/**
 * Span is when something began and ended. Compacted is the mark that a product left on a tool part
 * whose output it no longer sends; reading it turns it into an elision.
 */
export interface SessionSpan {
  start?: number;
  end?: number;
  compacted?: number;
  /** of a retry */
  created?: number;
  [further: string]: unknown;
}

/** ToolState is a call's input and, once it ended, its result. */
export interface SessionToolState {
  status: string;
  /** a JSON object; whatever the model sent */
  input?: unknown;
  /** pending: the arguments as far as they were received */
  raw?: string;
  title?: string;
  output?: string;
  error?: string;
  metadata?: unknown;
  time?: SessionSpan;
  /** file parts that the tool returned */
  attachments?: SessionPart[];
  [further: string]: unknown;
}

/**
 * Usage is what the provider reported for a step, in tokens. Input excludes what was read from or
 * written to the prompt cache; Output excludes Reasoning where the provider tells them apart.
 */
export interface SessionUsage {
  /** as reported; 0 when the provider gave none */
  total?: number;
  input?: number;
  output?: number;
  reasoning?: number;
  cache?: SessionCacheUsage;
  /**
   * Searches is how many searches of the web the provider made for the step: they have a price
   * each.
   */
  searches?: number;
  /**
   * Tier is the service of the provider beside its usual one, which has other prices: "priority",
   * "fast", several joined by "+".
   */
  tier?: string;
  [further: string]: unknown;
}

/** Shutdown asks the server to end once all other requests are answered. */
export interface Shutdown {
}

/** Stored is a message with the ids of its parts. */
export interface Stored {
  id: string;
  parts: string[];
}

/** Subscribe asks for the notifications "event" of a session, from now on. */
export interface Subscribe {
  /** Session is the id of a session, "" for all of them. */
  session?: string;
}

/**
 * Summarize is a request of the server's: the client asks its own model, without tools, and
 * answers with what it wrote.
 */
export interface Summarize {
  /** Session is the id of a session. */
  session: string;
  /** Model is who is to write, "provider/id": the one that reads the session, or compaction.model. */
  model: string;
  /** As is the format of Messages, the one that the client asked for. */
  as: string;
  /** System is the system prompt, Messages the conversation; its last message asks for the summary. */
  system: string;
  messages: unknown[];
  /** MaxOutput is how many tokens the answer may have, reasoning included. */
  maxOutput: number;
}

/**
 * Summary is the client's answer to summarize. Instead of it the client can answer with an error;
 * its data says how the provider refused the request, as a Rejection does, and the engine sends a
 * request in another form, or writes the summary without a model.
 */
export interface Summary {
  /** Text is the summary. */
  text: string;
  /**
   * Finish is why the model stopped: "stop" if it is "", "length" if it was cut off, "refused",
   * "tool-calls".
   */
  finish?: string;
  /** Usage is what the provider reported, in the form of the format asked for. */
  usage?: unknown;
  /** Cost is in US dollars; it is found by the model's prices if it is missing. */
  cost?: number;
}

/** Undo takes back what a receipt is for: a compaction, a pruning, a restore or a pin. */
export interface Undo {
  /** Session is the id of a session. */
  session: string;
  /** Receipt is the id of the receipt, or of the marker of a compaction; "" is the newest. */
  receipt?: string;
}

/** Unpin forgets a pin, named by its id, by its part or message, or by its text. */
export interface Unpin {
  /** Session is the id of a session. */
  session: string;
  /** Pin is the id of the pin, its part, its message, or its text. */
  pin: string;
}

/** Unsubscribe ends what subscribe with the same session asked for. */
export interface Unsubscribe {
  /** Session is the id of a session, "" for all of them. */
  session?: string;
}

/**
 * Update says more completely what was said before: what calls gave back, or a message that was
 * streamed. Once it is answered it is in the store.
 */
export interface Update {
  /** Session is the id of a session. */
  session: string;
  /** Results are what calls gave back. */
  results?: Result[];
  /** Messages take the place of those that have their ids, parts included. */
  messages?: Message[];
}

/** View is what the model is to be sent now. */
export interface View {
  /** Session is the id of a session. */
  session: string;
  /** As is the format of the messages. */
  as?: string;
  /**
   * Since is the State of the view that the client has: only what differs from it is sent. "" asks
   * for the whole view, and so does a state that the server does not have any more.
   */
  since?: string;
}

/** Viewed is a view, or the end of one. */
export interface Viewed {
  as: string;
  /** Model is who reads it, "provider/id". */
  model: string;
  /**
   * Tokens is the size of the whole view by the session's counter, without system prompt and
   * tools.
   */
  tokens: number;
  /**
   * Keep is how many messages of the view that the client has begin this one; Messages come behind
   * them. It is 0 for a whole view.
   */
  keep: number;
  /** Messages are what a request body has in that format. */
  messages: unknown[];
  /** State names this view, for Since. */
  state: string;
}

/** Whole is a part as it was written. */
export interface Whole {
  /** Handle is its short name. */
  handle?: string;
  /** Text is the result of a call, or the text of another part. */
  text: string;
  /** Part is all of it. */
  part: SessionPart;
}

/**
 * Edited is what became of the parts that an edit names: one commit for all targets that could be
 * done.
 */
export interface WinnowEdited {
  /** in the order in which they were named */
  targets: EditTarget[];
  /**
   * Receipt is that of the commit; Undo with its id takes it back as a whole. nil when nothing was
   * done.
   */
  receipt?: PivotReceipt;
  /** Changed says that the view is another one now. */
  changed: boolean;
}

/**
 * Event is one thing that happened to a session. Which fields are set depends on the type. It
 * marshals to one line of JSON.
 */
export interface WinnowEvent {
  /** the type of the event, see below */
  type: string;
  /** id of the session */
  sessionID: string;
  /** when it happened */
  time: number;
  /** id of the message */
  message?: string;
  /** id of the part */
  part?: string;
  /** text of a delta, a warning, a failure */
  text?: string;
  /**
   * For a failure, the reason as a word; "silently-cut" for a warning that the server drops the
   * beginning of prompts.
   */
  code?: string;
  /** the receipt */
  receipt?: PivotReceipt;
  /** the elisions that were undone */
  elisions?: RuleKey[];
  /** how full the window is */
  verdict?: BudgetVerdict;
  /** the usage that the provider reported */
  usage?: SessionUsage;
  /** US dollars */
  cost?: number;
  /** "step" or "summary" */
  kind?: string;
  /**
   * Counts the requests of one compaction: the text of a later request replaces that of an earlier
   * one.
   */
  request?: number;
  /** Whether it is about a compaction whose summary is, or was, written in the background. */
  background?: boolean;
}

/**
 * Preview is what Compact would do to a session as it stands. Token figures are of the rendered
 * view, by the session's counter. What depends on a summary that a model has yet to write is an
 * estimate: Summary says on what it rests.
 */
export interface WinnowPreview {
  sessionID: string;
  /**
   * Kind is Compaction, or Pruning where folding would not make the view smaller and what can be
   * elided goes all the same.
   */
  kind: string;
  /** who reads the session, "provider/model" */
  model: string;
  /** the budget of the view; 0 is unlimited */
  usable?: number;
  /** what system prompt and tools take besides, as far as a report told */
  overhead: number;
  messagesBefore: number;
  messagesAfter: number;
  tokensBefore: number;
  tokensAfter: number;
  /** TokensBefore − TokensAfter */
  saved: number;
  /**
   * Folded is how many messages the summary would stand for, as they would be shown now, the
   * earlier summary included.
   */
  folded: number;
  foldedTokens: number;
  /** tokens by kind, as in a receipt */
  gone: Record<string, number>;
  /** messages that would stay */
  tail: number;
  tailTokens: number;
  /** id of the first of them */
  tailStart?: string;
  /** the tail would begin inside a turn */
  split?: boolean;
  /** written under the summary */
  carried: PivotCarried;
  /** Committed are the elisions that would be committed with it; their time is that of the preview. */
  committed: RuleElision[];
  /** Summary is what the summary would take, nil of a pruning. */
  summary?: WinnowSummaryPreview;
  /**
   * Notes say what would be done to make the request fit, who cannot be asked, and what is not
   * foreseen.
   */
  notes: string[];
}

/** SummaryPreview is who would write a summary, how long it is taken to be, and what it would cost. */
export interface WinnowSummaryPreview {
  /** "offline", or "provider/model" */
  summarizer: string;
  /**
   * Prepared: Compact would use, or wait for, the summary that is prepared in the background, if
   * it still fits. The rest is of a new one.
   */
  prepared?: boolean;
  /**
   * Tokens is its length, and Basis where that comes from: "written" (the offline summariser wrote
   * it, so that everything here is exact), "earlier" (as long as the newest summary of this
   * session by the same summariser), or "bound" (as long as it may be; most are shorter).
   */
  tokens: number;
  basis: string;
  /**
   * Calls is how many requests it takes, Prompt what they send, Cached what of it should be read
   * from the provider's cache, Output what they answer, reasoning not included.
   */
  calls: number;
  prompt: number;
  cached: number;
  output: number;
  /** Cost in US dollars at the prices of the model. 0 of a model says that no price is known. */
  cost: number;
}
