// Package lab replays recorded sessions under other policies, step by step and without a model, and
// bills each step as a provider with a prompt cache does. The policies are those of the engine and
// published ones.
//
// A session is a list of items: what the user said, the arguments of tool calls, their outputs, and
// what the assistant said. A step sends all items before it that the policy still shows, and
// produces items. Reasoning is not an item: providers bill it once and leave it out of later
// prompts, or carry it under every policy, and products record it differently.
//
// What a policy loses is counted as misses: each row of six words that a step wrote is looked up in
// everything that came before it. Words that occur only in what the policy had hidden were needed:
// the agent would have had to fetch them again, and is billed for that.
package lab
