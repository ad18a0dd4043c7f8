package cli

import (
	"strings"
	"unicode"

	"github.com/winnowhq/winnow/text/quantity"
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
	case without > 0:
		return "≥" + quantity.Dollars(*cost)
	case *cost == 0:
		return ""
	}
	return quantity.Dollars(*cost)
}

// Marked marks an estimate.
func Marked(figure string, estimated bool) string {
	if estimated && figure != "" && figure[0] != '<' {
		return "~" + figure
	}
	return figure
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
