package codex

import "strings"

// injectedOpenings begin the texts that the product puts into the conversation in the user's name.
// They are not looked at in files of versions that say where each text comes from.
var injectedOpenings = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<skill>",
	"<skills_instructions>", "<permissions instructions>", "<turn_aborted>", "<user_shell_command>",
	"<subagent_notification>", "<hook_prompt",
	"<collaboration_mode>", "<model_switch>", "<personality_spec>", "<realtime_conversation>", "<apps_instructions>",
	"<plugins_instructions>", "<goal_context>", "<image name=", "<image>", "</image>",
}

// summaryKind marks the message in which the product hands a summary on.
const summaryKind = "compaction.summary"

// written reports whether the user wrote the element i of a user message's content.
func (it *item) written(i int, text string) bool {
	if it.Role != "user" {
		return false
	}
	if i < len(it.Passthrough.Elements) {
		switch it.Passthrough.Elements[i].Provenance.Type {
		case "":
		case "user":
			return true
		default:
			return false
		}
	}
	if i < len(it.Passthrough.Kinds) {
		switch kind := it.Passthrough.Kinds[i]; {
		case strings.HasPrefix(kind, "user."):
			return true
		case kind != "" && kind != "unknown":
			return false
		}
	}
	text = strings.TrimLeft(text, " \t\r\n")
	for _, opening := range injectedOpenings {
		if strings.HasPrefix(text, opening) {
			return false
		}
	}
	return true
}

// kind is what the element i of a message's content is, as far as the file says.
func (it *item) kind(i int) string {
	if i < len(it.Passthrough.Kinds) {
		return it.Passthrough.Kinds[i]
	}
	return ""
}
