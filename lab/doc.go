// Package lab replays recorded sessions, step by step and without a model,
// under policies that the engine knows and under others that are published, and bills each step as a provider with a prompt cache does.
//
// A session is a row of items: what the user said, the arguments of tool calls, their outputs, and what the assistant said. A step sends all items
// before it, as far as the policy still shows them, and produces items. Reasoning is no item: providers bill it once and leave it out of later
// prompts, or carry it whatever the policy; and what is recorded of it differs by product.
//
// What a policy loses is counted as regrets: what a step wrote is looked for, six words at a time, in everything that came before it. Words that
// stood only where the policy had hidden them were needed: the agent would have had to fetch them again. A regret is billed as that.
package lab
