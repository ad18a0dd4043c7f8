package tui

// What other programs for a terminal need of how this one writes.

// Clean makes a foreign text fit for one line of a terminal: colours go, other control characters and what cannot be seen are written out as package visible
// does it. Line breaks and tabs become one space.
func Clean(text string) string { return clean(text) }

// Columns is how many columns a cleaned text takes.
func Columns(text string) int { return columns(text) }

// Rune is how many columns one character takes.
func Rune(r rune) int { return letters.RuneWidth(r) }

// Cut shortens a cleaned text to a width, and ends it with "…" when something went.
func Cut(text string, width int) string { return cut(text, width) }

// CutFront shortens a cleaned path to a width: its end says more than its beginning.
func CutFront(text string, width int) string { return cutFront(text, width) }

// Count says how many of a thing there are, in the right number: "1 message", "1,200 messages".
func Count(n int, one string) string { return count(n, one) }

// Dollars writes an amount with as many digits as tell something.
func Dollars(amount float64) string { return dollars(amount) }

// Percent of a whole. It does not round to 0% what is there, nor to 100% what is not all.
func Percent(part, whole int) string { return percent(part, whole) }
