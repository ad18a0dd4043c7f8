package pivot

import "strings"

// ContinueText is the text of the synthetic message after an automatic compaction (S001 phase 3).
const ContinueText = "Continue if you have next steps"

// system tells a summariser its task: it has no tools and must not continue the work.
const system = "" +
	"You write hand-over notes for a coding session. Another agent, who has not seen the conversation, " +
	"continues from your notes alone.\n" +
	"You have no tools and you do not continue the task: you only write the notes.\n" +
	"Write down what was done, what is being worked on, which files matter and what was changed in them, what " +
	"comes next, what the user asked for and which constraints and preferences persist, and which technical " +
	"decisions were made and why.\n" +
	"State only what the conversation contains. Keep paths, commands, names, numbers and error messages " +
	"exactly as they are. What is finished is described as finished.\n" +
	"Write in the language of the conversation, in Markdown, and be as short as completeness allows."

// letterSystem is the system prompt of the specification's compaction agent, in our words (S001
// "Compaction Agent Prompt", S003 6.1).
const letterSystem = "" +
	"You summarise conversations, so that whoever carries on with one has what they need.\n" +
	"You have no tools. You do not continue the work and you do not answer questions that come up in the " +
	"conversation: you write the summary and nothing else.\n\n" +
	"Asked for a summary, write a detailed one that is still concise. Choose what helps to carry on:\n" +
	"- the work that is finished\n" +
	"- the work in progress\n" +
	"- the files that were or are being modified\n" +
	"- the next steps\n" +
	"- what the user asked for, and the constraints and preferences that still apply\n" +
	"- the technical decisions that matter, each with its reason\n\n" +
	"It must give enough context to work from, and be short enough to be understood quickly."

// letterInstruction is the specification's final user message, in our words (S001 "Default Summary
// Prompt", S003 6.2).
const letterInstruction = "" +
	"Write the prompt from which a new session will continue our conversation above. That session sees " +
	"nothing of the conversation, only what you write. Be detailed about whatever helps it to continue: what we " +
	"did, what we are doing, which files we are working on, and what we will do next."

// System returns the system prompt of a request: the user's own, or ours; what S001 asks for under
// the policies that follow it.
func System(s Settings) string {
	switch {
	case s.System != "":
		return s.System
	case s.SummaryAlone:
		return letterSystem
	}
	return system
}

// aligned comes before the instruction if a request extends the conversation itself, because the
// conversation's tools are offered then.
const aligned = "" +
	"This is no part of the task. Do not call tools, although they are offered, and do not continue the task: " +
	"answer with the notes, as text."

// Aligned returns the final user message of a request that extends the conversation: the system
// prompt of a separate summariser, and the instruction.
func (r Request) Aligned() string { return r.System + "\n\n" + aligned + "\n\n" + r.Asks() }

const instruction = "" +
	"Write the hand-over notes for the conversation above, under these headings, and leave out a heading that " +
	"has nothing under it:\n\n" +
	"## Goal\n" +
	"## Constraints and preferences\n" +
	"## Decisions\n" +
	"## Done\n" +
	"## In progress\n" +
	"## Failed and unresolved\n" +
	"## Next steps\n" +
	"## Relevant files\n\n" +
	"Quote the user's constraints word for word. Answer with the notes only."

const updateInstruction = "" +
	"Earlier notes stand at the beginning of the conversation above. Write the notes anew so that they replace " +
	"them: keep what still holds, change what has changed, move what was finished from \"In progress\" to " +
	"\"Done\", and drop nothing that the user asked for. Do not summarise the earlier notes; carry their facts " +
	"forward. What is struck through in them as unconfirmed occurs nowhere in the conversation: leave it out.\n\n"

// Instruction returns the final user message of a request. With a previous summary it asks for an
// update instead of a summary of a summary; what S001 asks for is the same every time. A prompt of
// the user's own replaces ours; context lines are added to either.
func Instruction(s Settings, previous, focus string) string {
	text := s.Prompt
	switch {
	case text != "":
	case s.SummaryAlone:
		text = letterInstruction
	case previous != "":
		text = updateInstruction + instruction
	default:
		text = instruction
	}
	if focus != "" {
		text += "\n\nThe user asks to dwell on: " + focus
	}
	if len(s.Context) > 0 {
		text += "\n\n" + strings.Join(s.Context, "\n")
	}
	return text
}
