package wire

// Protocol is the API in which a provider is asked, as configuration and reports name it.
type Protocol string

const (
	Unknown   Protocol = ""
	Anthropic Protocol = "anthropic"        // Messages
	Chat      Protocol = "openai-chat"      // Chat Completions: most compatible servers
	Responses Protocol = "openai-responses" // Responses
	Gemini    Protocol = "gemini"           // generateContent
)

// Protocols are all of them, the most usual of compatible servers first.
func Protocols() []Protocol { return []Protocol{Chat, Responses, Anthropic, Gemini} }

// Credential is the header that carries a key; none without a key.
func (p Protocol) Credential(key string) map[string]string {
	switch {
	case key == "":
		return nil
	case p == Anthropic:
		return map[string]string{"X-Api-Key": key}
	case p == Gemini:
		return map[string]string{"X-Goog-Api-Key": key}
	}
	return map[string]string{"Authorization": "Bearer " + key}
}
