// node pi.mjs EXTENSION: runs what winnow.ts registers, with a pi that is made up here.
import assert from "node:assert/strict"
import { pathToFileURL } from "node:url"

const extension = await import(pathToFileURL(process.argv[2]))
const on = {}, tools = {}, commands = {}
extension.default({
  on: (event, handler) => { on[event] = handler },
  registerTool: (tool) => { tools[tool.name] = tool },
  registerCommand: (name, command) => { commands[name] = command },
})
const message = (id, role, more) => ({ type: "message", id, timestamp: "2026-01-01T00:00:00.000Z", message: { role, timestamp: Number(id), ...more } })
const text = (t) => [{ type: "text", text: t }]
const entries = [
  message("1", "user", { content: text("find the lamp") }),
  message("2", "assistant", { content: [{ type: "thinking", thinking: "hm" }, { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls" } }] }),
  message("3", "toolResult", { toolCallId: "c1", toolName: "bash", content: [...text("a long list"), { type: "image", data: "", mimeType: "image/png" }] }),
  message("4", "assistant", { content: text("there") }),
]
const header = { type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" }
const notes = []
const ctx = (answer) => ({
  cwd: process.cwd(), hasUI: true, ui: { notify: (note) => notes.push(note) },
  sessionManager: { getHeader: () => header, getBranch: () => entries, getSessionId: () => answer },
})
// The program that the extension calls here prints what WINNOW_ANSWER says.
const answers = (answer) => { process.env.WINNOW_ANSWER = typeof answer === "string" ? answer : JSON.stringify({ session: "s", edits: [], added: [], ...answer }) }
const sent = entries.map((e) => structuredClone(e.message))
const was = JSON.stringify(sent)
const request = async () => (await on.context({ messages: sent }, ctx("s")))?.messages

answers({})
assert.deepEqual(await request(), sent, "nothing is left out")

answers({ notice: "left out", edits: [
  { message: "2", part: "2:0", index: 0, gone: true },
  { message: "2", part: "2:1", index: 1, call: "c1", result: "[left out]", bare: true, input: { command: "…" } },
  { message: "4", part: "4:0", index: 0, text: "here" },
] })
let shown = await request()
assert.deepEqual(shown[1].content, [{ type: "toolCall", id: "c1", name: "bash", arguments: { command: "…" } }])
assert.deepEqual(shown[2].content, text("[left out]"))
assert.deepEqual(shown[3].content, text("here"))
assert.deepEqual(notes, ["left out"])

answers({ edits: [{ message: "2", part: "2:1", index: 1, call: "c1", result: "short" }] })
assert.equal((await request())[2].content.length, 2, "the image stays")

answers({ window: { summary: "what was", from: "4" }, added: [{ after: "", text: "again" }, { after: "4", text: "and again" }] })
shown = await request()
assert.deepEqual(shown.map((m) => m.summary ?? m.content[0].text), ["what was", "again", "there", "and again"])

for (const wrong of ["", "no JSON", "{}", JSON.stringify({ edits: [], added: [], window: { from: "nobody" } })]) {
  answers(wrong)
  assert.equal(await request(), undefined, "pi sends what it has: " + wrong)
}
assert.equal(JSON.stringify(sent), was, "what pi has was changed")

const compact = (keep) => {
  answers({ fold: { summary: "what was", keep, receipt: "r", marker: "m" } })
  return on.session_before_compact({ preparation: { tokensBefore: 9 } }, ctx("s"))
}
assert.deepEqual((await compact("4")).compaction,
  { summary: "what was", firstKeptEntryId: "4", tokensBefore: 9, details: { winnow: { receipt: "r", marker: "m" } } })
assert.equal(await compact("nobody"), undefined)
answers({ skip: "nothing to fold" })
assert.equal(await on.session_before_compact({ preparation: {} }, ctx("s")), undefined)

answers("the whole text")
assert.equal((await tools.recall.execute("id", { handle: "k3f", words: "a b" }, undefined, undefined, ctx("s"))).content[0].text, "the whole text")
assert.equal((await tools.context.execute("id", {}, undefined, undefined, ctx("s"))).content[0].text, "the whole text")
await commands.winnow.handler("undo", ctx("s"))
assert.equal(notes.at(-1), "the whole text")
await commands.winnow.handler("dance", ctx("s"))
assert.match(notes.at(-1), /context, why, undo, redo/)
console.log("ok")
