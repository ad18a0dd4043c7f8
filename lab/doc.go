// Package lab replays recorded sessions under other policies, step by step and without a model, and
// bills each step as a provider with a prompt cache does. The policies are those of the engine and
// published ones.
//
// A session is a list of items: what the user said, the arguments of tool calls, their outputs, and
// what the assistant said. A step sends all items before it that the policy still shows, and
// produces items. Reasoning is not an item: providers bill it once and leave it out of later
// prompts, or carry it under every policy, and products record it differently.
//
// # Misses
//
// What a policy loses is counted as misses: each row of six words that a step wrote is looked up in
// everything that came before it, where the numbers that readers print before lines are no words. A
// row that occurs only in what the policy had hidden needs the newest item that has it. An item
// with three such rows was missed. Missed steps and missed items are two counts; items of one file,
// which one read gives back, are one.
//
// The agent would have had to ask for what it missed. A replay bills one more request for the items
// of a step together, and appends what it brings back as a call of its own with these outputs. To
// the policy that is an output like any other: it lies idle, goes by the policy's own rules, and
// may be missed again. So with Options.Regions, where a second replay of each policy,
// Outcome.Region, brings back no more than the lines around the needed rows.
//
// Edits whose old text, and identifiers and paths in arguments that stand only in what is hidden
// are counted as well, and not billed: an agent may know them from a summary, or guess.
//
// # Behaviour
//
// A bill assumes that the agent does the same with less before it. Outcome.Lambda is the bill if it
// needs more steps, so many for each 1,000 tokens that were removed, and Outcome.BreakEven how many
// make a policy as dear as another one.
//
// # Terms
//
// Each step is billed at the prices of the model that answered it (Trace.Priced), and with
// Options.Logged for the cache that its usage tells of: Claude Code keeps prompts for an hour and
// pays double for writing them. A step that another model answers finds nothing in the cache.
//
// Its rooms, in reading order:
//
//   - advise: what would make sessions cheaper
//
// Begin with Lab.Run in lab.go.
package lab
