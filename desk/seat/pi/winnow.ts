// winnow VERSION. Written by "winnow install pi", taken away by "winnow uninstall pi".
//
// Before each request pi's messages go to the program winnow, which answers what is left out of
// them; when pi compacts, it answers with the summary. What was left out stays in pi's own file.
// If winnow fails, or takes longer than it may, pi does what it does without it.
//
// Tried with pi 0.87.1; in part with 0.73.1.
import { spawn } from "node:child_process"

const program = "winnow"
const patience = 8000 // milliseconds
const most = 64 << 20 // bytes of an answer

type Message = any

// run runs the program, and gives what it prints, or undefined if it fails.
export function run(args: string[], input: string, signal?: AbortSignal, cwd?: string): Promise<{ code: number; out: string; err: string }> {
  return new Promise((done) => {
    let out = "", err = ""
    const failed = (why: string) => done({ code: -1, out: "", err: why })
    try {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], timeout: patience, signal, cwd, windowsHide: true })
      child.on("error", (e) => failed(String(e)))
      child.stdin.on("error", () => {})
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        out += text
        if (out.length > most) child.kill()
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => { err += text.slice(0, 4096) })
      child.on("close", (code) => done({ code: code ?? -1, out, err }))
      child.stdin.end(input)
    } catch (e) {
      failed(String(e))
    }
  })
}

// shape asks what is to stand in place of what pi has.
async function shape(event: string, ctx: any, more: object, signal?: AbortSignal): Promise<any> {
  const entries = [ctx.sessionManager.getHeader(), ...ctx.sessionManager.getBranch()]
  if (!entries[0]) return undefined // a session that is kept nowhere
  const answer = await run(["shape", "--product", "pi", "--quiet"], JSON.stringify({ event, entries, ...more }), signal, ctx.cwd)
  if (answer.code !== 0) return undefined
  try {
    return { ...JSON.parse(answer.out), entries }
  } catch {
    return undefined
  }
}

// keyOf recognises a message of a request among the entries: requests have copies without ids.
const keyOf = (m: Message) => (m.role === "toolResult" ? "result " + m.toolCallId : `${m.role} ${m.timestamp}`)

// messageOf is the message that pi makes of an entry, undefined if it makes none.
export function messageOf(entry: any): Message | undefined {
  const timestamp = new Date(entry.timestamp).getTime()
  switch (entry.type) {
    case "message":
      return entry.message.role === "system" ? undefined : entry.message
    case "custom_message":
      return { role: "custom", customType: entry.customType, content: entry.content, display: entry.display, details: entry.details, timestamp }
    case "branch_summary":
      return { role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }
  }
}

// shaped are the messages of a request as the answer says. What they are made from stays as it is.
export function shaped(messages: Message[], answer: any): Message[] {
  const idOf = new Map<string, string | null>() // null: two entries look alike
  for (const entry of answer.entries) {
    const m = messageOf(entry)
    if (m) idOf.set(keyOf(m), idOf.has(keyOf(m)) ? null : entry.id)
  }
  if (answer.window) messages = windowOf(answer)
  const results = new Map<string, any>(), blocks = new Map<string, any[]>()
  for (const edit of answer.edits) {
    if (edit.call && (edit.result !== undefined || edit.bare)) results.set(edit.call, edit)
    blocks.set(edit.message, [...(blocks.get(edit.message) ?? []), edit])
  }
  const added = new Map<string, any[]>()
  for (const one of answer.added) added.set(one.after, [...(added.get(one.after) ?? []), one])
  const shown: Message[] = []
  const say = (after: string, timestamp: number) => {
    for (const one of added.get(after) ?? []) shown.push({ role: "user", content: [{ type: "text", text: one.text }], timestamp })
    added.delete(after)
  }
  let owner = "" // of the results that follow
  messages.forEach((m, i) => {
    const id = idOf.get(keyOf(m))
    if (m.role === "toolResult") {
      shown.push(withResult(m, results.get(m.toolCallId)))
    } else {
      if (id) owner = id
      const changed = id && blocks.has(id) ? withBlocks(m, blocks.get(id)!) : m
      if (changed) shown.push(changed)
    }
    if (m.role === "compactionSummary") say("", m.timestamp)
    if (messages[i + 1]?.role !== "toolResult") say(owner, m.timestamp)
  })
  return shown
}

// windowOf are the messages that the answer names, whatever pi itself would send.
function windowOf(answer: any): Message[] {
  const messages: Message[] = []
  let begun = false
  for (const entry of answer.entries) {
    begun = begun || entry.id === answer.window.from
    const m = begun ? messageOf(entry) : undefined
    if (m) messages.push(m)
  }
  if (messages.length === 0) throw new Error("the answer names a message that pi does not have")
  if (!answer.window.summary) return messages
  return [{ role: "compactionSummary", summary: answer.window.summary, tokensBefore: 0, timestamp: messages[0].timestamp }, ...messages]
}

// withResult is the result of a tool as an edit says.
function withResult(m: Message, edit: any): Message {
  if (!edit) return m
  const others = edit.bare ? [] : m.content.filter((block: any) => block.type !== "text")
  const text = edit.result ?? m.content.filter((block: any) => block.type === "text").map((block: any) => block.text).join("\n")
  return { ...m, content: [{ type: "text", text }, ...others] }
}

// withBlocks is a message as edits of its blocks say, undefined if nothing of it is left.
function withBlocks(m: Message, edits: any[]): Message | undefined {
  let content: any = typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content
  if (!Array.isArray(content)) return m
  content = content.flatMap((block: any, i: number) => {
    const edit = edits.find((e) => e.index === i)
    if (!edit) return [block]
    if (edit.gone) return []
    if (edit.input !== undefined && block.type === "toolCall") return [{ ...block, arguments: edit.input }]
    if (edit.text !== undefined) return [block.type === "text" ? { ...block, text: edit.text } : { type: "text", text: edit.text }]
    return [block]
  })
  return content.length > 0 ? { ...m, content } : undefined
}

const plain = (text: string) => ({ content: [{ type: "text", text }], details: undefined })

export default function (pi: any) {
  const tell = (ctx: any, text: string) => { if (text && ctx.hasUI) ctx.ui.notify(text, "info") }

  pi.on("context", async (event: any, ctx: any) => {
    try {
      const answer = await shape("request", ctx, {}, ctx.signal)
      if (!answer) return
      const messages = shaped(event.messages, answer)
      tell(ctx, answer.notice)
      return { messages }
    } catch {
      return // pi sends what it has
    }
  })

  pi.on("session_before_compact", async (event: any, ctx: any) => {
    try {
      const answer = await shape("compact", ctx, { focus: event.customInstructions ?? "" }, event.signal)
      const fold = answer?.fold
      if (!fold || !answer.entries.some((entry: any) => entry.id === fold.keep)) return
      tell(ctx, answer.notice)
      return {
        compaction: {
          summary: fold.summary,
          firstKeptEntryId: fold.keep,
          tokensBefore: event.preparation.tokensBefore,
          details: { winnow: { receipt: fold.receipt, marker: fold.marker } },
        },
      }
    } catch {
      return // pi compacts by itself
    }
  })

  pi.registerTool({
    name: "recall",
    label: "Recall",
    description: "Show again what was left out of the conversation, by the handle that its placeholder names.",
    parameters: {
      type: "object",
      properties: {
        handle: { type: "string", description: "The handle that the placeholder shows" },
        lines: { type: "string", description: "Only these lines, such as 120-180" },
        words: { type: "string", description: "Only lines that have these words, and three around each" },
      },
      required: ["handle"],
    },
    async execute(_id: string, p: any, signal: AbortSignal, _update: any, ctx: any) {
      const words = p.words ? String(p.words).split(/\s+/).filter(Boolean) : []
      const args = ["recall", "--quiet", "--session", ctx.sessionManager.getSessionId()]
      if (p.lines) args.push("--lines", String(p.lines))
      const answer = await run([...args, "--", String(p.handle), ...words], "", signal, ctx.cwd)
      if (answer.code !== 0) throw new Error(answer.err || "winnow could not be run")
      return plain(answer.out)
    },
  })

  pi.registerTool({
    name: "context",
    label: "Context",
    description: "Show what takes the space in the conversation, and what was left out of it.",
    parameters: { type: "object", properties: {} },
    async execute(_id: string, _p: any, signal: AbortSignal, _update: any, ctx: any) {
      const answer = await run(["inspect", "--quiet", "--no-color", ctx.sessionManager.getSessionId()], "", signal, ctx.cwd)
      if (answer.code !== 0) throw new Error(answer.err || "winnow could not be run")
      return plain(answer.out)
    },
  })

  const commands: Record<string, string> = { context: "inspect", why: "explain", undo: "undo", redo: "redo" }
  pi.registerCommand("winnow", {
    description: "context: what takes the space; why [HANDLE]: what was left out, and why; undo, redo: the last decision",
    handler: async (text: string, ctx: any) => {
      const [word = "context", ...rest] = text.trim().split(/\s+/).filter(Boolean)
      const command = commands[word]
      if (!command) return ctx.ui.notify("/winnow " + Object.keys(commands).join(", "), "warning")
      const answer = await run([command, "--quiet", "--no-color", ctx.sessionManager.getSessionId(), ...rest], "", undefined, ctx.cwd)
      ctx.ui.notify((answer.out || answer.err || "winnow could not be run").trimEnd(), answer.code === 0 ? "info" : "warning")
    },
  })
}
