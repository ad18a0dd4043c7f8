// Package lavish runs the tests of packages that make much garbage and hold little.
package lavish

import (
	"flag"
	"runtime/debug"
	"strconv"
	"testing"
)

// Checks is like Run, with a number of random cases for each property, unless -rapid.checks says
// how many. `make properties` tries the large numbers.
func Checks(m *testing.M, n int) {
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		panic(err)
	}
	Run(m)
}

// Run runs the tests of a TestMain, and lets garbage grow to four times what is held: collecting it
// took a third of their processor time. Benchmarks run as a program does.
func Run(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}
