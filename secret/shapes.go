package secret

// shape is a key that is known by what it begins with.
type shape struct {
	prefix string
	set    alphabet
	least  int // characters after the prefix
	exact  bool
	mixed  bool // letters and digits both: the prefix alone is too weak a sign
}

// shapes are the keys that providers give out, as their documentation and the rules of secret
// scanners (GitHub secret scanning, gitleaks, TruffleHog) describe them. A longer prefix stands
// before a shorter one that begins it.
var shapes = []shape{
	// Anthropic
	{prefix: "sk-ant-", set: word | dash, least: 20},
	// OpenAI, of a project
	{prefix: "sk-proj-", set: word | dash, least: 20},
	// OpenAI, of a service account
	{prefix: "sk-svcacct-", set: word | dash, least: 20},
	// OpenAI, of an administrator
	{prefix: "sk-admin-", set: word | dash, least: 20},
	// OpenRouter
	{prefix: "sk-or-v1-", set: word, least: 32},
	// Langfuse
	{prefix: "sk-lf-", set: word | dash, least: 32, mixed: true},
	// OpenAI and those that took its form after it
	{prefix: "sk-", set: alnum, least: 32, mixed: true},
	// Google API
	{prefix: "AIza", set: word | dash, least: 35},
	// Google OAuth client
	{prefix: "GOCSPX-", set: word | dash, least: 28},
	// Google OAuth access
	{prefix: "ya29.", set: word | dash, least: 20},
	// Google OAuth refresh
	{prefix: "1//0", set: word | dash, least: 30},
	// GitHub
	{prefix: "ghp_", set: alnum, least: 36}, {prefix: "gho_", set: alnum, least: 36},
	{prefix: "ghu_", set: alnum, least: 36},
	{prefix: "ghs_", set: alnum, least: 36}, {prefix: "ghr_", set: alnum, least: 36},
	{prefix: "github_pat_", set: word, least: 22},
	{prefix: "glpat-", set: word | dash | dot, least: 20}, // GitLab
	{prefix: "AKIA", set: upper, least: 16, exact: true},  // AWS access key, and one for a while
	{prefix: "ASIA", set: upper, least: 16, exact: true},
	// Slack
	{prefix: "xoxb-", set: alnum | dash, least: 10}, {prefix: "xoxp-", set: alnum | dash, least: 10},
	{prefix: "xoxa-", set: alnum | dash, least: 10},
	{prefix: "xoxs-", set: alnum | dash, least: 10}, {prefix: "xoxr-", set: alnum | dash, least: 10},
	{prefix: "xoxe.", set: alnum | dash | dot, least: 10},
	{prefix: "xapp-", set: alnum | dash, least: 10},
	{prefix: "hooks.slack.com/services/", set: alnum | slash, least: 20},
	{prefix: "npm_", set: alnum, least: 36},
	{prefix: "pypi-AgEI", set: word | dash, least: 50},
	{prefix: "sk_live_", set: alnum, least: 16}, {prefix: "sk_test_", set: alnum, least: 16}, // Stripe
	{prefix: "rk_live_", set: alnum, least: 16}, {prefix: "rk_test_", set: alnum, least: 16},
	{prefix: "whsec_", set: alnum | plus | slash, least: 24},
	{prefix: "hf_", set: alnum, least: 30},              // Hugging Face
	{prefix: "gsk_", set: alnum, least: 40},             // Groq
	{prefix: "xai-", set: alnum, least: 60},             // xAI
	{prefix: "pplx-", set: alnum, least: 40},            // Perplexity
	{prefix: "r8_", set: alnum, least: 36},              // Replicate
	{prefix: "nvapi-", set: word | dash, least: 40},     // NVIDIA
	{prefix: "SG.", set: word | dash | dot, least: 60},  // SendGrid
	{prefix: "dop_v1_", set: alnum, least: 64},          // DigitalOcean
	{prefix: "shpat_", set: alnum, least: 32},           // Shopify
	{prefix: "dckr_pat_", set: word | dash, least: 20},  // Docker
	{prefix: "hvs.", set: word | dash, least: 24},       // Vault
	{prefix: "lin_api_", set: alnum, least: 32},         // Linear
	{prefix: "ntn_", set: alnum, least: 40},             // Notion
	{prefix: "tskey-", set: alnum | dash, least: 20},    // Tailscale
	{prefix: "AGE-SECRET-KEY-1", set: upper, least: 58}, // age
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
