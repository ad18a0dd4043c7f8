package budget

import (
	"regexp"
	"strings"
	"sync"
)

// overflowPatterns are the ways in which providers say that a prompt is too long, without regard to
// case. The order is that of the list from which they were taken, then by server.
var overflowPatterns = []string{
	`prompt is too long`,                    // 1 Anthropic
	`request_too_large`,                     // 2 Anthropic, by size in bytes
	`input is too long for requested model`, // 3 Bedrock
	`exceeds the context window`,            // 4 OpenAI Responses
	`exceeds (?:the )?(?:model'?s )?maximum context length(?: of [\d,]+ tokens?|\s*\([\d,]+\))`, // 5 vLLM, LiteLLM
	`input token count.*exceeds the maximum`,                                                    // 6 Gemini
	`tokens in request more than max tokens allowed`,                                            // 7
	`maximum prompt length is [\d,]+`,                                                           // 8 xAI
	`reduce the length of the messages`,                                                         // 9 Groq
	// 10 OpenAI Chat, OpenRouter
	`maximum context length is [\d,]+ tokens`,
	`exceeds (?:the )?maximum allowed input length of [\d,]+ tokens`,                       // 11
	`input \([\d,]+ tokens\) is longer than the model'?s context length \([\d,]+ tokens\)`, // 12
	`exceeds the available context size`,                                                   // 14 llama.cpp
	`greater than the context length`,                                                      // 15 LM Studio
	`context window exceeds limit`,                                                         // 16 MiniMax
	`exceeded model token limit`,                                                           // 17 Kimi
	`context[_ ]length[_ ]exceeded`,                                                        // 18
	`request entity too large`,                                                             // 19 HTTP servers
	`context length is only [\d,]+ tokens`,                                                 // 20
	`input length.*exceeds.*context length`,                                                // 21
	`prompt too long; exceeded (?:max )?context length`,                                    // 22 Ollama
	`too large for model with [\d,]+ maximum context length`,                               // 23 Mistral
	`prompt has [\d,]+ tokens, but the configured context size is [\d,]+ tokens`,           // 24
	`model_context_window_exceeded`,                                                        // 25 z.ai
	// llama.cpp's type, when only the text of the body is at hand
	`exceed_context_size_error`,
	// Anthropic, when the answer's limit is what does not fit
	`input length and .?max_tokens.? exceed context limit`,
	// llama.cpp, when it runs full while it answers
	`context (?:size|window|length) (?:(?:has been|was|is) )?exceeded`,
	`exceed context window of [\d,]+`,      // llama-cpp-python
	`context length of only [\d,]+ tokens`, // LM Studio
	// LM Studio, while it answers
	`reached context length of [\d,]+ tokens`,
	`longer than the maximum model length of [\d,]+`,                         // vLLM
	`exceeds (?:the )?max_model_len`,                                         // vLLM
	`is too long and exceeds limit of [\d,]+`,                                // vLLM
	`input length \([\d,]+(?: tokens)?\) exceeds the maximum allowed length`, // SGLang
	// TGI and what is made of it: Together, DeepInfra
	`tokens \+ .?max_new_tokens.? must be <=`,
	`inputs.? must have less than [\d,]+ tokens`,                    // TGI
	`input token count is [\d,]+ but the model only supports up to`, // Vertex
	// Gemini, by size in bytes
	`request payload size exceeds the limit`,
	`prompt exceeds max(?:imum)? length`,                    // z.ai
	`range of input length should be`,                       // Alibaba
	`input length [\d,]+ exceeds the maximum length [\d,]+`, // Volcano Engine
	// Cerebras and Mistral close without a word
	`^4(?:00|13)\s*(?:status code)?\s*\(no body\)`,
}

// vaguePatterns may be about a prompt, and about what an account may use in a day: beside a status
// that is about the account they say nothing.
var vaguePatterns = []string{
	`exceeds the limit of [\d,]+`, // 13 GitHub Copilot
	`too many tokens`,             // 26
	`token limit exceeded`,        // 27
}

// ratePatterns are what a message about rates says. It is no overflow even when an overflow pattern
// matches.
var ratePatterns = []string{
	`^(?:throttling error|service unavailable):`,
	`^throttlingexception\b`, // Bedrock, as its own clients word it
	`rate limit`,
	`too many requests`,
	`tokens(?: per |/)(?:min|minute|hour|day)\b`,
	`wait before trying again`,
}

// reducedPattern is what is said where one request has more tokens than may be sent in a minute:
// OpenAI (429) and Groq (413). It speaks of a rate, but no wait helps, and a shorter prompt does.
const reducedPattern = `request too large for .*(?:tokens must be reduced|reduce your message size)`

// compiled holds one expression for each list, compiled at the first rejection.
var compiled = sync.OnceValue(func() (c struct{ overflow, vague, rate, reduced *regexp.Regexp }) {
	either := func(patterns []string) *regexp.Regexp {
		return regexp.MustCompile(`(?is)(?:` + strings.Join(patterns, `)|(?:`) + `)`)
	}
	c.overflow, c.vague, c.rate = either(overflowPatterns), either(vaguePatterns), either(ratePatterns)
	c.reduced = either([]string{reducedPattern})
	return c
})

// tooLong reports whether a message says that a prompt is too long; account says that the refusal
// is about the account.
func tooLong(message string, account bool) bool {
	message = strings.TrimSpace(message)
	c := compiled()
	if c.reduced.MatchString(message) {
		return true
	}
	return message != "" && !c.rate.MatchString(message) &&
		(c.overflow.MatchString(message) || !account && c.vague.MatchString(message))
}
