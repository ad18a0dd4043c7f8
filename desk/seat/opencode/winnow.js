// winnow VERSION. Written by "winnow install opencode", taken away by "winnow uninstall opencode".
//
// Before each request OpenCode's messages go to the program winnow, which answers what is left out
// of them; when OpenCode compacts, it answers with the summary. What was left out stays in
// OpenCode's own database. If winnow fails, or takes longer than it may, OpenCode does what it does
// without it.
//
// Tried with OpenCode 1.18.33.
import { spawn } from "node:child_process"

const program = "winnow"
const patience = 8000 // milliseconds
const most = 64 << 20 // bytes of an answer

// run runs the program, and gives what it prints; the code is -1 if it could not be run.
function run(args, input, cwd) {
  return new Promise((done) => {
    let out = "", err = ""
    const failed = (why) => done({ code: -1, out: "", err: why })
    try {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], timeout: patience, cwd, windowsHide: true })
      child.on("error", (e) => failed(String(e)))
      child.stdin.on("error", () => {})
      child.stdout.setEncoding("utf8").on("data", (text) => {
        out += text
        if (out.length > most) child.kill()
      })
      child.stderr.setEncoding("utf8").on("data", (text) => { err += text.slice(0, 4096) })
      child.on("close", (code) => done({ code: code ?? -1, out, err }))
      child.stdin.end(input)
    } catch (e) {
      failed(String(e))
    }
  })
}

// isFold reports whether a message is the marker of a compaction, or the summary that answers one.
const isFold = (m) => m.info.summary === true || m.parts.some((part) => part.type === "compaction")

const textOf = (m) => m?.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n\n").trim()

// shaped are the messages of a request as the answer says. all are those of the whole session.
// What they are made from stays as it is.
function shaped(messages, answer, all) {
  if (answer.window) messages = windowOf(answer.window, messages, all)
  const edits = new Map(answer.edits.map((edit) => [edit.part, edit]))
  const added = new Map()
  for (const one of answer.added) added.set(one.after, [...(added.get(one.after) ?? []), one])
  const user = messages.findLast((m) => m.info.role === "user" && !isFold(m)) ?? messages.findLast((m) => m.info.role === "user")
  const shown = []
  const say = (after) => {
    for (const one of added.get(after) ?? []) shown.push(said(user, one.text))
    added.delete(after)
  }
  for (const m of messages) {
    const parts = m.parts.flatMap((part) => edited(part, edits.get(part.id)))
    if (parts.length > 0 || m.parts.length === 0) shown.push({ ...m, parts })
    say(m.info.summary === true ? "" : m.info.id)
  }
  return shown
}

// said is a message in the user's name.
const said = (user, text) => ({
  info: { ...user.info, summary: undefined },
  parts: [{ id: "prt_winnow", sessionID: user.info.sessionID, messageID: user.info.id, type: "text", synthetic: true, text }],
})

// windowOf are the messages that the answer names, whatever OpenCode itself would send.
function windowOf(window, messages, all) {
  const from = all.findIndex((m) => m.info.id === window.from)
  if (from < 0) throw new Error("the answer names a message that OpenCode does not have")
  const list = all.slice(from).filter((m) => !isFold(m))
  const user = messages.findLast((m) => m.info.role === "user") ?? list.find((m) => m.info.role === "user")
  return window.summary ? [said(user, window.summary), ...list] : list
}

// edited is a part as an edit says, in a list that is empty if nothing of it is left.
function edited(part, edit) {
  if (!edit) return [part]
  if (edit.gone) return []
  if (part.type !== "tool") {
    if (edit.text === undefined) return [part]
    if (part.type === "text") return [{ ...part, text: edit.text }]
    return [{ id: part.id, sessionID: part.sessionID, messageID: part.messageID, type: "text", synthetic: true, text: edit.text }]
  }
  const state = { ...part.state }
  if (edit.result !== undefined) {
    if (state.status === "error") state.error = edit.result
    else state.output = edit.result
    if (state.time?.compacted) state.time = { ...state.time, compacted: undefined } // the result says it
  }
  if (edit.input !== undefined) state.input = edit.input
  if (edit.bare) state.attachments = []
  return [{ ...part, state }]
}

export const Winnow = async ({ client, directory }) => {
  const folding = new Map() // session → { summary, keep }, while OpenCode compacts
  const tails = new Map() // session → keep, until the marker says so too

  const data = async (call) => (await call).data
  const session = (id) => data(client.session.get({ path: { id } }))
  const history = (id) => data(client.session.messages({ path: { id } }))

  const tell = (message) => {
    if (message) client.tui.showToast({ body: { title: "winnow", message, variant: "info" } }).catch(() => {})
  }

  // shape asks what is to stand in place of what OpenCode has.
  async function shape(event, id) {
    const [info, all] = await Promise.all([session(id), history(id)])
    const input = JSON.stringify({ event, session: info, messages: all })
    const answer = await run(["shape", "--product", "opencode", "--quiet"], input, directory)
    if (answer.code !== 0) return undefined
    return { ...JSON.parse(answer.out), all }
  }

  // settle writes down in the marker of the newest compaction with which message the tail begins,
  // so that OpenCode without winnow sends the same. OpenCode writes its own choice there when the
  // summary has ended.
  async function settle(id, keep, all) {
    const summary = all.findLast((m) => m.info.summary === true)
    const marker = all.find((m) => m.info.id === summary?.info.parentID)?.parts.find((part) => part.type === "compaction")
    if (!marker || !summary.info.finish || marker.tail_start_id === keep) return
    await client._client.patch({
      url: "/session/{id}/message/{message}/part/{part}",
      path: { id, message: marker.messageID, part: marker.id },
      body: { ...marker, tail_start_id: keep },
      headers: { "Content-Type": "application/json" },
    })
  }

  // settled does that for a compaction that has just ended.
  async function settled(id) {
    const keep = tails.get(id)
    tails.delete(id)
    if (keep) await settle(id, keep, await history(id))
  }

  const safely = (hook) => async (...given) => {
    try {
      return await hook(...given)
    } catch {
      return // OpenCode goes on without
    }
  }

  return {
    config: safely(async (config) => {
      config.mcp ??= {}
      config.mcp.winnow ??= { type: "local", command: [program, "mcp"] } // the tool recall
    }),

    "experimental.session.compacting": safely(async ({ sessionID }, output) => {
      folding.delete(sessionID)
      const answer = await shape("compact", sessionID)
      if (!answer?.fold?.keep) return
      folding.set(sessionID, answer.fold)
      tell(answer.notice)
      output.prompt = "Answer with the one word: done."
    }),

    "experimental.chat.messages.transform": safely(async (_, output) => {
      const id = output.messages[0]?.info.sessionID
      if (!id) return
      if (folding.has(id)) {
        output.messages.length = 0 // of the summary that is not asked for
        return
      }
      const answer = await shape("request", id)
      if (!answer) return
      const { window, all } = answer
      if (window?.summary && window.summary.trim() === textOf(all.findLast((m) => m.info.summary === true))) {
        await settle(id, window.from, all).catch(() => {}) // it was ended before the marker said so
      }
      const shown = shaped(output.messages, answer, answer.all)
      output.messages.splice(0, output.messages.length, ...shown)
      tell(answer.notice)
    }),

    "experimental.text.complete": safely(async ({ sessionID, messageID }, output) => {
      const fold = folding.get(sessionID)
      if (!fold) return
      const { info } = await data(client.session.message({ path: { id: sessionID, messageID } }))
      if (info.summary !== true) return
      folding.delete(sessionID)
      tails.set(sessionID, fold.keep)
      output.text = fold.summary
    }),

    "experimental.compaction.autocontinue": safely(async ({ sessionID }) => settled(sessionID)),

    event: safely(async ({ event }) => {
      if (event.type === "session.compacted") await settled(event.properties.sessionID)
      if (event.type === "session.error") folding.delete(event.properties.sessionID)
    }),
  }
}
