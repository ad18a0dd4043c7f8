import { describe, expect, test } from 'claude-code/testing'

const messages = [
  { role: 'user', text: 'Do it.', toolUses: [], handle: 'one' },
  { role: 'assistant', text: 'Yes.', toolUses: [], handle: 'two' },
]

// beneath stands for the engine: what the plugin runs is answered by `answer`.
function beneath(on, answer) {
  const ran = []
  on('session.id', () => ({ value: 'the-session' }))
  on('ui.status', () => ({ value: undefined }))
  on('process.run', (_, e) => {
    ran.push(e)
    const out = answer(e)
    return { value: { exitCode: 0, stdout: '', stderr: '', isStdoutTruncated: false, isStderrTruncated: false, ...out } }
  })
  on('session.compact', () => ({ messages: [{ role: 'user', text: "the product's own", toolUses: [] }] }))
  return ran
}

describe('register', () => {
  test('hands back handles and what winnow wrote', async ($, on) => {
    const turn = { role: 'user', text: 'A summary.', toolUses: [] }
    const ran = beneath(on, () => ({ stdout: JSON.stringify({ messages: [{ turn }, { handle: 'two' }], tokensBefore: 9, tokensAfter: 3 }) }))
    const done = await $.session.compact({ trigger: 'manual', messages })
    expect(done.messages.length).toBe(2)
    expect(done.messages[0].text).toBe('A summary.')
    expect(done.messages[1].handle).toBe('two')
    expect(done.tokensAfter).toBe(3)
    expect(ran.length).toBe(1)
  })

  for (const [name, answer] of [
    ['fails', () => ({ exitCode: 1, stderr: 'no' })],
    ['says nothing', () => ({})],
    ['says what is no JSON', () => ({ stdout: '{"messages":' })],
    ['says that nothing can be left out', () => ({ stdout: '{"messages":null,"skip":"nothing"}' })],
    ['names a message that is not there', () => ({ stdout: '{"messages":[{"handle":"three"}]}' })],
  ]) {
    test('leaves it to the product if winnow ' + name, async ($, on) => {
      beneath(on, answer)
      const done = await $.session.compact({ trigger: 'auto', messages })
      expect(done.messages[0].text).toBe("the product's own")
    })
  }

  test('leaves subagents alone', async ($, on) => {
    const ran = beneath(on, () => ({}))
    const done = await $.session.compact({ trigger: 'auto', agentId: 'a1', messages })
    expect(done.messages[0].text).toBe("the product's own")
    expect(ran.length).toBe(0)
  })

  test('asks no model ahead of time', async ($, on) => {
    const ran = beneath(on, () => ({}))
    const done = await $.session.compact({ trigger: 'precompute', messages })
    expect(done.messages).toBeUndefined()
    expect(ran.length).toBe(0)
  })
})
