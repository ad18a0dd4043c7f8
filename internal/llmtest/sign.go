package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/winnowhq/winnow/wire"
)

// sign makes what a provider wants back with reasoning. It is bound to the text, so that a change
// is found out, and to a prompt, unless that is "".
func sign(text, prompt string) string {
	sum := sha256.Sum256([]byte(text))
	signed := seal + hex.EncodeToString(sum[:12])
	if prompt != "" {
		signed += boundTo + prompt
	}
	return base64.StdEncoding.EncodeToString([]byte(signed))
}

const (
	seal    = "llmtest reasoning, 12 bytes of its sha256: "
	boundTo = " of the prompt "
)

// forged reports whether a signature is one of ours and belongs to another text. Signatures from
// elsewhere pass.
func forged(signature, text string) bool {
	plain, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !strings.HasPrefix(string(plain), seal) {
		return false
	}
	_, prompt, _ := strings.Cut(string(plain), boundTo)
	return signature != sign(text, prompt)
}

// bound stands for the first blocks of a prompt. How they are marked for the cache does not count.
func bound(blocks []block) string {
	at := key{}
	for _, b := range blocks {
		at = at.with(b.sum[:])
	}
	return hex.EncodeToString(at[:12])
}

// misplaced finds a thought of this server's behind another prompt than it was thought for, and says
// how Anthropic refuses that; "" if there is none, or if the request asks to have such blocks
// dropped.
func misplaced(q Request) string {
	behaviour := wire.ValueOf(q.Body).Get("thinking", "block_binding", "prefix_mismatch_behavior")
	if behaviour.String() == "drop_block" {
		return ""
	}
	for i, b := range q.prompt.blocks {
		plain, err := base64.StdEncoding.DecodeString(b.signature)
		if err != nil || !strings.HasPrefix(string(plain), seal) {
			continue
		}
		_, prompt, found := strings.Cut(string(plain), boundTo)
		if found && prompt != bound(q.prompt.blocks[:b.first]) {
			return fmt.Sprintf("messages: Invalid `signature` in `thinking` block %d of the prompt. The block is "+
				"bound to a different conversation.", i)
		}
	}
	return ""
}
