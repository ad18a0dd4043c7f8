package copilot

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/session"
)

// The events of a compaction. The product keeps verbatim what came after the beginning.
const (
	startEvent    = "session.compaction_start"
	completeEvent = "session.compaction_complete"
	// standInEvent is the end of a compaction whose tail a newer one cuts into: the product must
	// not count it, because it counts the messages from the newest beginning on.
	standInEvent = "winnow.compaction_complete"
	// keptEvent is a message that the product has no form for. It ignores events of other types.
	keptEvent = "winnow.message"
)

// event is a line of the file. Data is read as what its type has there.
type event struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Timestamp string         `json:"timestamp"`
	Agent     string         `json:"agentId"` // of a sub-agent
	Parent    string         `json:"parentId"`
	Winnow    jsontext.Value `json:"winnow"`
	Data      jsontext.Value `json:"data"`
}

// about is what is known about a session as a whole.
type about struct {
	SessionID string `json:"sessionId,omitzero"`
	Start     string `json:"startTime,omitzero"`
	Model     string `json:"selectedModel,omitzero"`
	Context   struct {
		Cwd     string         `json:"cwd,omitzero"`
		Unknown jsontext.Value `json:",embed"`
	} `json:"context,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// asked is a message in the user's name.
type asked struct {
	Content string `json:"content"`
	// Sent is what the model is sent: the content, and what the product adds to it.
	Sent        string         `json:"transformedContent"`
	Source      string         `json:"source"` // "" or "user", or which program wrote it
	Autopilot   bool           `json:"isAutopilotContinuation"`
	Attachments []binary       `json:"attachments"`
	Unknown     jsontext.Value `json:",embed"`
}

// answer is a message of the model, or a chunk of one.
type answer struct {
	Content string `json:"content"`
	Model   string `json:"model"`
	Call    string `json:"apiCallId"` // the request that gave it
	Chunk   int    `json:"chunkIndex"`
	Parent  string `json:"parentToolCallId"` // of a sub-agent
	Thought string `json:"reasoningText"`
	Opaque  string `json:"reasoningOpaque"`
	Calls   []struct {
		ID        string         `json:"toolCallId"`
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
		Title     string         `json:"intentionSummary"`
	} `json:"toolRequests"`
	Unknown jsontext.Value `json:",embed"`
}

// completed is the end of a call.
type completed struct {
	ID      string `json:"toolCallId"`
	Parent  string `json:"parentToolCallId"` // of a sub-agent
	Success bool   `json:"success"`
	Result  struct {
		Content  string   `json:"content"` // what the model is sent
		Binaries []binary `json:"binaryResultsForLlm"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// binary is a picture or another file that the model is sent, in itself or as a
// session.binary_asset.
type binary struct {
	Data  string `json:"data"`
	Mime  string `json:"mimeType"`
	Asset string `json:"assetId"`
	Name  string `json:"displayName"`
}

// usage is what a request took. Input has in it what the cache gave and took, Output the reasoning.
type usage struct {
	Model     string `json:"model"`
	Input     int    `json:"inputTokens"`
	Output    int    `json:"outputTokens"`
	Read      int    `json:"cacheReadTokens"`
	Write     int    `json:"cacheWriteTokens"`
	Reasoning int    `json:"reasoningTokens"`
	Byok      bool   `json:"isByok"`
	Provider  string `json:"providerType"` // of the user's own key
	Call      string `json:"apiCallId"`
	Parent    string `json:"parentToolCallId"` // of a sub-agent
}

// by is the model that was asked. Without a key of the user's own it is one of the product's.
func (u *usage) by() *session.ModelRef {
	ref := &session.ModelRef{ProviderID: "github-copilot", ModelID: u.Model}
	if u.Byok {
		ref.ProviderID = u.Provider
	}
	return ref
}

func (u *usage) tokens() *session.Usage {
	return &session.Usage{
		Input: max(0, u.Input-u.Read-u.Write), Output: max(0, u.Output-u.Reasoning), Reasoning: u.Reasoning,
		Cache: session.CacheUsage{Read: u.Read, Write: u.Write}, Total: u.Input + u.Output,
	}
}

// compaction is the end of one that the product made. It is the summary of what was there when it
// began.
type compaction struct {
	Success bool   `json:"success"`
	Summary string `json:"summaryContent"`
	Trigger string `json:"trigger"` // "manual", or why it began by itself
	Took    *usage `json:"compactionTokensUsed"`
}
