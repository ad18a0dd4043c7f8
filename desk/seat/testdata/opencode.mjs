// node opencode.mjs PLUGIN: runs the hooks of winnow.js, with an OpenCode that is made up here.
import assert from "node:assert/strict"
import { pathToFileURL } from "node:url"

const plugin = await import(pathToFileURL(process.argv[2]))
assert.deepEqual(Object.keys(plugin), ["Winnow"], "OpenCode takes everything that is exported for a plugin")

const say = (id, role, text, more) => ({
  info: { id, sessionID: "s", role, ...more },
  parts: [{ id: "p" + id, sessionID: "s", messageID: id, type: "text", text }],
})
const call = (id, output) => ({
  id, sessionID: "s", messageID: "2", type: "tool", tool: "bash", callID: "c" + id,
  state: { status: "completed", input: { command: "ls" }, output, attachments: [{ id: "a" }], time: { start: 1, end: 2 } },
})
const answered = say("2", "assistant", "look")
answered.parts.push(call("t1", "a long list"))
let all = [say("1", "user", "find the lamp"), answered, say("3", "user", "where?"), say("4", "assistant", "there", { finish: "stop" })]
const notes = [], patched = []
const client = {
  session: {
    get: async () => ({ data: { id: "s" } }),
    messages: async () => ({ data: structuredClone(all) }),
    message: async ({ path }) => ({ data: structuredClone(all.find((m) => m.info.id === path.messageID)) }),
  },
  tui: { showToast: async ({ body }) => { notes.push(body.message) } },
  _client: { patch: async (request) => { patched.push(request) } },
}
const hooks = await plugin.Winnow({ client, directory: process.cwd() })
const answers = (answer) => { process.env.WINNOW_ANSWER = typeof answer === "string" ? answer : JSON.stringify({ session: "s", edits: [], added: [], ...answer }) }
const request = async (messages = all) => {
  const output = { messages: structuredClone(messages) }
  await hooks["experimental.chat.messages.transform"]({}, output)
  return output.messages
}

answers({})
assert.deepEqual(await request(), all)

answers({ notice: "left out", edits: [
  { message: "2", part: "p2", index: 0, gone: true },
  { message: "2", part: "t1", index: 1, call: "ct1", result: "[left out]", bare: true, input: { command: "…" } },
  { message: "4", part: "p4", index: 0, text: "here" },
] })
let shown = await request()
assert.equal(shown[1].parts.length, 1)
assert.equal(shown[1].parts[0].state.output, "[left out]")
assert.deepEqual(shown[1].parts[0].state.input, { command: "…" })
assert.deepEqual(shown[1].parts[0].state.attachments, [])
assert.equal(shown[3].parts[0].text, "here")
assert.deepEqual(notes, ["left out"])

answers({ window: { summary: "what was", from: "3" }, added: [{ after: "4", text: "and again" }] })
assert.deepEqual((await request()).map((m) => m.parts[0].text), ["what was", "where?", "there", "and again"])

for (const wrong of ["", "no JSON", "{}", JSON.stringify({ edits: [], added: [], window: { from: "nobody" } })]) {
  answers(wrong)
  assert.deepEqual(await request(), all, "OpenCode sends what it has: " + wrong)
}

// A compaction: no history is sent, the summary is winnow's, and the marker says where the tail begins.
const output = { context: [] }
answers({ skip: "nothing to fold" })
await hooks["experimental.session.compacting"]({ sessionID: "s" }, output)
assert.equal(output.prompt, undefined)
answers({ fold: { summary: "what was", keep: "3" } })
await hooks["experimental.session.compacting"]({ sessionID: "s" }, output)
assert.match(output.prompt, /one word/)
assert.deepEqual(await request(all.slice(0, 2)), [])
const marker = { info: { id: "5", sessionID: "s", role: "user" }, parts: [{ id: "p5", sessionID: "s", messageID: "5", type: "compaction", auto: true }] }
all = [...all, marker, say("6", "assistant", "done", { summary: true, parentID: "5", finish: "stop" })]
const written = { text: "done" }
await hooks["experimental.text.complete"]({ sessionID: "s", messageID: "6", partID: "p6" }, written)
assert.equal(written.text, "what was")
all[5].parts[0].text = written.text
await hooks["experimental.compaction.autocontinue"]({ sessionID: "s" }, {})
assert.equal(patched.length, 1)
assert.deepEqual(patched[0].body, { ...marker.parts[0], tail_start_id: "3" })
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
assert.equal(patched.length, 1, "once is enough")
const later = { text: "an answer" }
await hooks["experimental.text.complete"]({ sessionID: "s", messageID: "4", partID: "p4" }, later)
assert.equal(later.text, "an answer")

// One that ended before the marker was written: the next request sees to it.
answers({ window: { summary: "what was", from: "3" } })
await request()
assert.equal(patched.length, 2)

const config = {}
await hooks.config(config)
assert.equal(config.mcp.winnow.command[1], "mcp")
const own = { mcp: { winnow: { type: "remote" } } }
await hooks.config(own)
assert.equal(own.mcp.winnow.type, "remote", "what the user set stays")
console.log("ok")
