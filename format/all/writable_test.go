package all

import (
	"io"

	"github.com/winnowhq/winnow/format"
)

// Writable are the names of the products whose sessions are written, also from elsewhere.
func Writable() (names []string) {
	for _, f := range Formats() {
		switch f.Name() {
		case "anthropic", "openai", "gemini": // requests, which have no form for a pivot
			continue
		}
		if f.Write(io.Discard, nil, format.Change{}) != format.ErrReadOnly {
			names = append(names, f.Name())
		}
	}
	return names
}
