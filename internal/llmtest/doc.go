// Package llmtest is a scripted provider for tests. It listens on loopback and speaks Anthropic
// Messages, OpenAI Chat Completions, OpenAI Responses and Gemini as they are on the wire, streamed
// and not, without a network or a key.
//
//	s := llmtest.Start(t, llmtest.Script{Answer: llmtest.Text("Done.").Fails(llmtest.Status529, llmtest.CutMidEvent)})
//	client := anthropic.NewClient(option.WithBaseURL(s.BaseURL(llmtest.Anthropic)), option.WithAPIKey("any"))
//
// A [Script] decides what is said, as a function of the decoded [Request]. Everything else is the
// server's: it refuses what the provider refuses, bills what the provider would bill, fails as it
// is told to, and keeps a [Record] of each request, with the moment at which the client gave up.
// [Server.Problems] lists the requests that no provider would have taken: a test asserts that the
// list is empty. [Faults] lists all the ways to fail, for tests that are tables.
//
// # Tokens
//
// A block of a prompt (a tool, a text, a call, a result, a thought) takes what the Counter counts
// in its texts, and 4 more; an image or a document takes 1,590. Texts are the strings of the block
// but its ids, roles, types, signatures and encrypted contents, and the arguments and schemas as
// JSON. No provider's tokenizer counts like this, but the same prompt always has the same size.
//
// # The prompt cache
//
// A prompt is the sequence of its blocks in the order in which providers read it: tools, system
// prompt, messages. Each prefix of it is known by a hash of its blocks. How JSON is spaced and
// escaped does not count, nor the order of a block's own members, nor cache_control, nor the ids
// that OpenAI gives items. The order of members within schemas, inputs and arguments does count,
// for they reach the model as text. Each model has a cache of its own, and what comes behind a
// change is fresh. A request leaves something in the cache when it is answered with 200, whatever
// becomes of the answer.
//
// What is shorter than the model's own minimum is not cached (the embedded catalogue of package
// model knows it: 4,096 tokens for claude-haiku-4-5 or gemini-2.5-pro, 1,024 for most and for every
// name that is not known); [Script.CacheMinimum] sets another one.
//
// Anthropic writes entries at marks alone (cache_control, on a block or on the whole request). From
// each mark it looks back for an entry over at most 20 blocks, the marked one included; calls in a
// row are one block in this, and results in a row. The longest entry found is
// cache_read_input_tokens; what lies between it and the last mark is cache_creation_input_tokens;
// the rest is input_tokens. With [Script.LongestPrefix] every block's end up to the last mark is an
// entry, and the look back has no end. An entry lives for five minutes from the request that wrote or last
// read it, or for an hour when its mark says so. Other tools change everything; another
// tool_choice, thinking or effort, and the first or last image, change the messages alone.
//
// OpenAI keeps every prefix of that size without being asked, for ten minutes from its last use,
// and reads in steps of 128 tokens. A prompt_cache_key has a cache of its own. Gemini does the same
// for five minutes and without steps. Within a block a prefix ends at every 256th byte of its text.
// At least one token is always fresh.
//
// It is simpler than the real ones in this: a hit never fails for want of luck or of a free
// machine; organisations and keys share one cache; thinking of earlier turns is part of the prompt
// and its prefix, though some models drop it; changed images, speed and server tools invalidate
// nothing beyond their own place; OpenAI's longer retention (prompt_cache_retention), explicit
// breakpoints and the price that its newer models have for writing do not exist, nor do Gemini's
// named caches. A reply's Usage reports what the model does not find.
//
// # What is too long
//
// [Script.Window] bounds the prompt; with Anthropic and Chat, which count it, prompt and answer's
// limit together. The refusal is the provider's own, with 400, except that a streamed Responses
// request is answered with 200, and refused by an error event and response.failed in its stream. An
// answer beyond the request's own limit is cut there. (Newer Claude models take a limit that does
// not fit, and end an answer that fills the window with model_context_window_exceeded; that is not
// done here.)
//
// # What is refused
//
// Missing credentials and headers, bodies that are not JSON, members that are missing, unknown
// (Anthropic) or at odds with each other, more than four marks or marks in the wrong order, a
// conversation whose order package wire finds wrong, and reasoning of this server's that comes back
// changed. Reasoning of others is taken as it is: nobody here can verify it. With [Script.Binds]
// thinking that comes back behind another prompt than its own is refused, too. Beta headers are not
// compared with what they allow, and no rate is limited unless a fault says so.
package llmtest
