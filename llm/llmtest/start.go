package llmtest

// TB is what Start needs of a test; testing.TB has it. The package does without the package testing, for programs that
// run an upstream to show something.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Start runs an upstream until the test ends.
func Start(t TB, script Script) *Server {
	t.Helper()
	s, err := New(script)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
