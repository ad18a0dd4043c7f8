package recall

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// taken are the instructions of a conversation, each with what took it back: "rule ← since".
func taken(texts ...string) []string {
	var got []string
	for _, c := range Constraints(conversation(texts...)) {
		text := c.Text
		if c.Since != "" {
			text += " ← " + c.Since
		}
		got = append(got, text)
	}
	return got
}

func TestConstraints_saysWhatTookThemBack(t *testing.T) {
	for _, c := range []struct {
		name        string
		texts, want []string
	}{
		{"a path is free again", []string{"u Never touch db/migrations.", "u You may change db/migrations now, the freeze is over."},
			[]string{"Never touch db/migrations. ← You may change db/migrations now, the freeze is over.",
				"You may change db/migrations now, the freeze is over."}},
		{"another command", []string{"u Always run `make lint` before committing.", "u Run `make check` instead of `make lint` before committing."},
			[]string{"Always run `make lint` before committing. ← Run `make check` instead of `make lint` before committing.",
				"Run `make check` instead of `make lint` before committing."}},
		{"another language in the same words", []string{"u Answer in French.", "u From now on answer in German."},
			[]string{"Answer in French. ← From now on answer in German.", "From now on answer in German."}},
		{"a rule beside it", []string{"u Never touch db/migrations.", "u Never touch vendor/ any more."},
			[]string{"Never touch db/migrations.", "Never touch vendor/ any more."}},
		{"one more", []string{"u Always run `make lint` before committing.", "u From now on also run `make test` before committing."},
			[]string{"Always run `make lint` before committing.", "From now on also run `make test` before committing."}},
		{"a question", []string{"u Never touch db/migrations.", "u Can you change db/migrations instead of the store?"},
			[]string{"Never touch db/migrations."}},
		{"a word in common", []string{"u Remember, you can only enter one command at a time.", "u You can solve this by yourself."},
			[]string{"Remember, you can only enter one command at a time."}},
		{"given again later", []string{"u Never touch db/migrations.", "u You may change db/migrations.", "u Never touch db/migrations."},
			[]string{"Never touch db/migrations."}},
		{"in German", []string{"u Ändere niemals etwas an db/migrations.", "u Du darfst db/migrations jetzt doch ändern."},
			[]string{"Ändere niemals etwas an db/migrations. ← Du darfst db/migrations jetzt doch ändern.",
				"Du darfst db/migrations jetzt doch ändern."}},
	} {
		if diff := cmp.Diff(c.want, taken(c.texts...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRevoked_namesWhatATextStillGives(t *testing.T) {
	rules := Constraints(conversation("u Answer in French.", "u From now on answer in German."))
	for text, want := range map[string][]string{
		`- "Answer in French."`:                                  {`"From now on answer in German."`},
		"Answer in French. From now on answer in German.":        nil,
		"The user wants German.":                                 nil,
		"They said: Answer in French. And they prefer to rebase": {`"From now on answer in German."`},
	} {
		if diff := cmp.Diff(want, Revoked(text, rules)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestRemarks_saysWhatNobodyCanGuess(t *testing.T) {
	log := conversation("u Ann owns api/v2, Ben owns web/ui. Is it on port 80?",
		"u Please fix cmd/serve.go. The staging database is `db-7`.", "u Never touch db/migrations. This is hard to read.",
		"a The port is 8080.", "u Ann owns api/v2, Ben owns web/ui.")
	var got []string
	for _, remark := range Remarks(log) {
		text := remark.Text
		if remark.Task {
			text = "task: " + text
		}
		if remark.Names == 0 {
			text = "no names: " + text
		}
		got = append(got, text)
	}
	want := []string{"Ann owns api/v2, Ben owns web/ui.", "task: Please fix cmd/serve.go.", "The staging database is `db-7`.",
		"no names: This is hard to read."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}
