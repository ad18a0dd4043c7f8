package config

import "testing"

// The defaults are those of the specification (S000, S001, S002), with nothing set.
func TestDefaults_areTheSpecifications(t *testing.T) {
	want := map[string]string{
		"policy":          `"balanced"`, // where S002 has all ten on by default; see docs/specification.md
		"compaction.auto": "true", "compaction.prune": "true",
		"compaction.protect": "40000", "compaction.minimum": "20000", "compaction.protectTurns": "2",
		"compaction.protectedTools": `["skill"]`,
	}
	for _, name := range []string{"inputs", "markers", "urls", "attachments", "snapshots", "retries", "code", "errors",
		"files", "queries"} {
		want["strategies.aggressivePruning."+name] = "true"
	}
	l, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := l.Values()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range want {
		if string(got[key]) != value {
			t.Errorf("%s is %s by default, want %s", key, got[key], value)
		}
	}
}
