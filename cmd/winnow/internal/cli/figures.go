package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/winnowhq/winnow/quantity"
)

// UndoOf is the command that takes back what was written to a file, "" if no file was written.
func UndoOf(path string) string {
	if path == "" || path == "-" {
		return ""
	}
	return "winnow undo " + ShellWord(path)
}

// Known is a cost to sort by: an unknown one comes last.
func Known(cost *float64) float64 {
	if cost == nil {
		return -1
	}
	return *cost
}

// CostOf is a cost for people, marked if the cost of some requests is unknown.
func CostOf(cost *float64, without int) string {
	switch {
	case cost == nil || without > 0 && *cost == 0:
		return "unknown"
	case without > 0 && *cost < 0.01:
		return "≥" + quantity.Dollars(*cost)
	case without > 0:
		return "≥" + dollars(*cost)
	}
	return dollars(*cost)
}

// Marked marks an estimate.
func Marked(figure string, estimated bool) string {
	if estimated && figure != "" && figure[0] != '<' {
		return "~" + figure
	}
	return figure
}

// Age is a time span in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d < 100*24*time.Hour:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	}
	return fmt.Sprintf("%d mo", int(d.Hours()/24/30))
}

// BytesOf is a number of bytes in its largest unit.
func BytesOf(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%d kB", n/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// Short is a number of tokens in four digits.
func Short(n int) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fG", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n == 0:
		return ""
	}
	return fmt.Sprint(n)
}

func dollars(cost float64) string {
	switch {
	case cost == 0:
		return ""
	case cost < 0.01:
		return "<$0.01"
	case cost >= 1000:
		return "$" + quantity.Number(int(cost+0.5))
	}
	return fmt.Sprintf("$%.2f", cost)
}

// Price is a price in US dollars per million tokens, "-" for 0.
func Price(p float64) string {
	if p == 0 {
		return "-"
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", p), "0"), ".")
}

// ShellWord quotes a name for a shell where it must be.
func ShellWord(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@%+,", r)
	}) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
