package bill

import (
	"cmp"
	"strings"
	"unicode"
)

// Client is how a program compacts its conversations by itself, as far as that is known.
type Client struct {
	Name string // the beginning of its User-Agent
	// It compacts when a prompt with its answer takes this share of the window, less Room tokens.
	Share float64
	Room  int
	// Keep is about how many tokens of the conversation remain, with the summary; KeepShare of the
	// size at which it compacts.
	Keep      int
	KeepShare float64
	// Summary is about how many tokens the summary has.
	Summary int
}

// clients are the programs of which it is known, by their sources and documentation of 2026.
var clients = []Client{
	{Name: "claude-cli", Share: 1, Room: 33_000, Keep: 8_000, Summary: 3_000},
	{Name: "codex_", Share: 0.9, Keep: 8_000, Summary: 2_000},
	{Name: "opencode", Share: 1, Room: 32_000, Keep: 12_000, Summary: 2_000},
	{Name: "pi", Share: 1, Room: 16_384, Keep: 22_000, Summary: 2_000},
	{Name: "GeminiCLI", Share: 0.5, KeepShare: 0.3, Summary: 2_000},
	{Name: "QwenCode", Share: 0.85, Keep: 8_000, Summary: 2_000},
	{Name: "goose", Share: 0.8, Keep: 2_000, Summary: 2_000},
}

// Compacts reports whether a program is known to compact its conversations by itself, by a name with
// which it introduces itself: in requests to a provider, or to a server of tools.
func Compacts(program string) bool {
	program = strings.ToLower(program)
	for _, c := range clients {
		own := strings.ToLower(c.Name)
		for _, suffix := range []string{"-cli", "_", "cli", "code"} {
			own = strings.TrimSuffix(own, suffix)
		}
		rest, is := strings.CutPrefix(program, own)
		if is && (rest == "" || !unicode.IsLetter(rune(rest[0])) || strings.HasPrefix(rest, "cli") ||
			strings.HasPrefix(rest, "code")) {
			return true
		}
	}
	return false
}

// usual is assumed of a client that is not among them.
var usual = Client{Share: 0.8, Keep: 2_000, Summary: 2_000}

// earliest is the share of the window below which no client is assumed to compact by itself.
const earliest = 0.5

// Habit is what was seen of a client that compacted by itself, in the provider's tokens.
type Habit struct {
	// Under is the largest prompt with its answer behind which it went on, and At the smallest
	// behind which it compacted; 0 without any.
	Under int `json:"under,omitzero"`
	At    int `json:"at,omitzero"`
	// Keep and Summary are as in Client, of the newest compaction.
	Keep    int `json:"keep,omitzero"`
	Summary int `json:"summary,omitzero"`
}

// With is a habit with what was seen another time.
func (h Habit) With(seen Habit) Habit {
	if seen.At > 0 {
		h.Keep, h.Summary = seen.Keep, seen.Summary
		if h.At == 0 || seen.At < h.At {
			h.At = seen.At
		}
	}
	h.Under = max(h.Under, seen.Under)
	return h
}

// limits are where a client would have compacted by itself, and what would have been left.
type limits struct {
	at            [paths]int
	keep, summary int
	window        int
}

// limitsOf finds them for a client by its name, what was seen of it, and the window of its model.
func limitsOf(name string, seen Habit, window int) limits {
	c, known := usual, false
	for _, one := range clients {
		if strings.HasPrefix(name, one.Name) && (one.Name != "pi" || name == "pi" || strings.HasPrefix(name, "pi/")) {
			c, known = one, true
			break
		}
	}
	at := int(c.Share*float64(window)) - c.Room
	l := limits{window: window}
	switch {
	case seen.At > 0:
		low, high := min(seen.Under, seen.At), max(seen.Under, seen.At)
		if at = (low + high) / 2; high-low < at/20 || low == 0 {
			low, high = at, at
		}
		l.at = [paths]int{at, low, high}
	case known && at > seen.Under:
		l.at = [paths]int{at, at, at}
	default:
		at = max(at, seen.Under)
		l.at = [paths]int{at, min(at, max(int(earliest*float64(window)), seen.Under)), never}
	}
	l.keep = cmp.Or(seen.Keep, c.Keep+int(c.KeepShare*float64(at)))
	l.summary = cmp.Or(seen.Summary, c.Summary)
	return l
}
