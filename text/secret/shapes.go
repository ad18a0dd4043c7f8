package secret

// shape is what keys look like behind the words that they begin with.
type shape struct {
	prefixes string // words
	set      alphabet
	least    int  // characters behind the prefix
	exact    bool // no more than those
	mixed    bool // letters and digits both: the prefix alone is too weak a sign
}

// shapes are the keys that providers give out, as their documentation and the rules of secret
// scanners (GitHub secret scanning, gitleaks, TruffleHog) describe them.
var shapes = []shape{
	// Anthropic; OpenAI, of a project, a service account and an administrator; Google OAuth; Docker
	{prefixes: "sk-ant- sk-proj- sk-svcacct- sk-admin- ya29. dckr_pat_", set: word | dash, least: 20},
	{prefixes: "sk-or-v1-", set: word, least: 32},                  // OpenRouter
	{prefixes: "sk-lf-", set: word | dash, least: 32, mixed: true}, // Langfuse
	// OpenAI, and those that took its form after it
	{prefixes: "sk-", set: alnum, least: 32, mixed: true},
	{prefixes: "AIza", set: word | dash, least: 35},               // Google API
	{prefixes: "GOCSPX-", set: word | dash, least: 28},            // Google OAuth client
	{prefixes: "1//0", set: word | dash, least: 30},               // Google OAuth refresh
	{prefixes: "ghp_ gho_ ghu_ ghs_ ghr_", set: alnum, least: 36}, // GitHub
	{prefixes: "github_pat_", set: word, least: 22},               // GitHub
	{prefixes: "glpat-", set: word | dash | dot, least: 20},       // GitLab
	// AWS access key, and one for a while
	{prefixes: "AKIA ASIA", set: upper, least: 16, exact: true},
	{prefixes: "xoxb- xoxp- xoxa- xoxs- xoxr- xapp-", set: alnum | dash, least: 10}, // Slack
	{prefixes: "xoxe.", set: alnum | dash | dot, least: 10},                         // Slack
	{prefixes: "hooks.slack.com/services/", set: alnum | slash, least: 20},
	{prefixes: "npm_ r8_", set: alnum, least: 36}, // npm, Replicate
	{prefixes: "pypi-AgEI", set: word | dash, least: 50},
	{prefixes: "sk_live_ sk_test_ rk_live_ rk_test_", set: alnum, least: 16}, // Stripe
	{prefixes: "whsec_", set: alnum | plus | slash, least: 24},               // Stripe
	{prefixes: "hf_", set: alnum, least: 30},                                 // Hugging Face
	{prefixes: "gsk_ pplx- ntn_", set: alnum, least: 40},                     // Groq, Perplexity, Notion
	{prefixes: "xai-", set: alnum, least: 60},                                // xAI
	{prefixes: "nvapi-", set: word | dash, least: 40},                        // NVIDIA
	{prefixes: "SG.", set: word | dash | dot, least: 60},                     // SendGrid
	{prefixes: "dop_v1_", set: alnum, least: 64},                             // DigitalOcean
	{prefixes: "shpat_ lin_api_", set: alnum, least: 32},                     // Shopify, Linear
	{prefixes: "hvs.", set: word | dash, least: 24},                          // Vault
	{prefixes: "tskey-", set: alnum | dash, least: 20},                       // Tailscale
	{prefixes: "AGE-SECRET-KEY-1", set: upper, least: 58},                    // age
}

// alphabet is a set of characters.
type alphabet uint8

const (
	alnum alphabet = 1 << iota
	upper          // capital letters and digits
	underscore
	dash
	dot
	slash
	plus
	word = alnum | underscore
)

func (a alphabet) has(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		return a&(alnum|upper) != 0
	case c >= 'a' && c <= 'z':
		return a&alnum != 0
	case c == '_':
		return a&underscore != 0
	case c == '-':
		return a&dash != 0
	case c == '.':
		return a&dot != 0
	case c == '/':
		return a&slash != 0
	case c == '+', c == '=':
		return a&plus != 0
	}
	return false
}

// run is where the characters of an alphabet end that begin at a place.
func (a alphabet) run(text string, at int) int {
	for at < len(text) && a.has(text[at]) {
		at++
	}
	return at
}
