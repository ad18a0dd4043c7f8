package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// sign makes what a provider wants back with reasoning. It is bound to the text, so that a change
// is found out.
func sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString([]byte(seal + hex.EncodeToString(sum[:12])))
}

const seal = "llmtest reasoning, 12 bytes of its sha256: "

// forged reports whether a signature is one of ours and belongs to another text. Signatures from
// elsewhere pass.
func forged(signature, text string) bool {
	plain, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && strings.HasPrefix(string(plain), seal) && signature != sign(text)
}
