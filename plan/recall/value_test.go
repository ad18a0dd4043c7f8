package recall

import (
	"strings"
	"testing"

	"github.com/winnowhq/winnow/session"
)

// said is a conversation: each text begins with who says it, "u " or "a ".
func conversation(texts ...string) []session.Message {
	var log []session.Message
	for _, text := range texts {
		m := session.Message{MessageInfo: session.MessageInfo{Role: session.User}}
		if text[0] == 'a' {
			m.Role, m.Finish = session.Assistant, "stop"
		}
		m.Parts = []session.Part{{Type: session.TextPart, Text: text[2:]}}
		log = append(log, m)
	}
	return log
}

func TestValues_theNewestHoldsAndTheOldOnesAreKnown(t *testing.T) {
	for _, c := range []struct {
		name, want string // "now (was, was)"
		texts      []string
	}{
		{"port", "8080 (7070)", []string{"u The service listens on port 7070.", "a Done.",
			"u Use port 8080 instead of 7070, please."}},
		{"port", "8080 (7070)", []string{"u The port is 7070.", "u The port is now 8080."}},
		{"port", "8080 (7070)", []string{"u Make it listen on port 7070.",
			"a I changed the port from 7070 to 8080, because 7070 is taken."}},
		{"port", "8080 (7070)", []string{"u Der Port ist 7070.", "u Der Port ist jetzt 8080."}},
		{"port", "8080 (7070)", []string{"u Nimm Port 7070.", "u Doch lieber Port 8080 statt 7070."}},
		{"port", "8080 (7070)", []string{"u Le port est 7070.", "u Le port passe de 7070 à 8080."}},
		{"puerto", "8080 (7070)", []string{"u El puerto es 7070.", "u Usa el puerto 8080 en lugar de 7070."}},
		{"timeout", "45 s (30 s)", []string{"u Set the request timeout to 30 s.",
			"u Raise the request timeout to 45 s."}},
		{"MAX_CONN", "250 (100)", []string{"a I set `MAX_CONN=100` in the environment.",
			"a I set `MAX_CONN=250` now."}},
		{"port", "7070 ()", []string{"u The port is 7070.", "u No, the port is 8080.",
			"u Back again: the port is 7070."}},
		{"region", "eu-west-1 (us-east-1)",
			[]string{"u The region is us-east-1.", "u The region is eu-west-1 from now on."}},
		{"staging", "5433 ()", []string{"u On staging the port is 5433.", "u On production the port is 5432."}},
		{"production", "5434 (5432)", []string{"u Staging has port 5433.", "u The port is 5432 on production.",
			"u On production the port is now 5434."}},
		{"database port", "5432 ()", []string{"u The port is 8080.", "u The database port is 5432."}},
		{"session lifetime", "900 ()", []string{"u We agreed on 900 for the session lifetime."}},
		{"limit", "512 MB (256 MB)", []string{"u Memory limit: 256 MB.", "u Memory limit: 512 MB."}},
	} {
		found := ""
		for _, v := range Values(conversation(c.texts...)) {
			if strings.Contains(strings.ToLower(v.Name), strings.ToLower(c.name)) {
				was := v.Was
				if v.Now == "7070" {
					was = nil
				}
				found += v.Now + " (" + strings.Join(was, ", ") + ")"
			}
		}
		if found != c.want {
			t.Errorf("%q: %s is %q, want %q (%+v)", c.texts, c.name, found, c.want, Values(conversation(c.texts...)))
		}
	}
}

func TestValues_whatIsDifferentIsNotSuperseded(t *testing.T) {
	values := Values(conversation("u The read timeout is 30 s.", "u The write timeout is 45 s.",
		"u Cache size: 100 MB.", "u Batch size: 250."))
	for _, v := range values {
		if len(v.Was) > 0 {
			t.Errorf("%s: %s was %v", v.Name, v.Now, v.Was)
		}
	}
	if len(values) != 4 {
		t.Errorf("got %+v", values)
	}
}

func TestValues_namesTakeThePlaceOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		"u We'll use Redis instead of Memcached.":             "Redis<Memcached",
		"a I decided to use Redis rather than Memcached.":     "Redis<Memcached",
		"u Wir nehmen Redis statt Memcached.":                 "Redis<Memcached",
		"u On utilise Redis au lieu de Memcached.":            "Redis<Memcached",
		"u Usamos Redis en lugar de Memcached.":               "Redis<Memcached",
		"u Switch the cache from Memcached to Redis, please.": "Redis<Memcached",
	} {
		found := ""
		for _, v := range Values(conversation(text)) {
			found += v.Now + "<" + strings.Join(v.Was, ",")
		}
		if found != want {
			t.Errorf("%q gives %q, want %q", text, found, want)
		}
	}
}

func TestSuperseded_saysWhatHoldsNow(t *testing.T) {
	values := Values(conversation("u The port is 7070 and the read timeout is 30 s.", "u We use Memcached.",
		"u The port is 8080 now.", "u Use Redis instead of Memcached.", "u The write timeout is 20 s.",
		"u The read timeout is 40 s."))
	for text, want := range map[string]string{
		"It listens on port 7070.":           "port: now 8080",
		"It listens on port 17070.":          "",
		"port 8080 (was 7070)":               "",
		"We'll use Memcached for the cache.": "Redis instead of Memcached",
		"The write timeout is 30 s.":         "",
		"The read timeout is 30 s.":          "read timeout: now 40 s",
		"7070 rows were copied.":             "",
	} {
		if got := strings.Join(Superseded(text, values), "; "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A value that is nothing but a sign or a letter is one all the same.
func TestValues_oddOnes(t *testing.T) {
	for _, text := range []string{"The mode is `v`.", "Set it to `$`.", "limit = `~`", "x: `=`", "`a=`", "`:b`",
		"The key is €.", "port: ", "→ 8080", "from 1 to", "not 5", "v to v1 instead of v"} {
		Superseded(text, Values(conversation("u "+text, "a "+text)))
	}
}

func FuzzValues(f *testing.F) {
	for _, seed := range []string{"The port is 7070.", "Use `v` instead of `$` → 8080", "MAX=`1` to 2 MB, not 3: → x",
		"Le délai passe de 30 s à 45 s"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		values := Values(conversation("u "+one, "a "+two, "u "+two))
		for _, v := range values {
			if v.Now == "" || v.Text == "" {
				t.Errorf("a value without one: %+v", v)
			}
			for _, was := range v.Was {
				if was == v.Now {
					t.Errorf("what holds is said to be gone: %+v", v)
				}
			}
		}
		Superseded(one, values)
		Superseded(two, values)
	})
}
