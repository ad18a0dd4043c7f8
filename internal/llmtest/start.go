package llmtest

import "testing"

// Start runs an upstream until the test ends.
func Start(t testing.TB, script Script) *Server {
	t.Helper()
	s, err := New(script)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
