package command

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/opencode"
	"github.com/winnowhq/winnow/internal/opencodetest"
)

// withServer is a desk with a session in OpenCode's store, and a running OpenCode that has it. What
// the server changes is not in the store: commands read from the server.
func withServer(t *testing.T) (d *desk, src string, server *opencodetest.Server) {
	t.Helper()
	d, _, id := withOpenCode(t)
	d.env = append(slices.DeleteFunc(d.env, func(pair string) bool { return slices.Contains(smallSettings, pair) }), eager...)
	server = opencodetest.Start(t, d.read("opencode.json"))
	d.openCode = server.URL
	return d, "opencode:" + id, server
}

// files are the names of what is in the current folder.
func (d *desk) files() (names []string) {
	d.t.Helper()
	list, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// listIn is a list of strings in a document of JSON.
func listIn(t *testing.T, o outcome, path ...string) (words []string) {
	t.Helper()
	var at any = o.document(t)
	for _, name := range path {
		of, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("%v: there is no %s in %s", path, name, o.stdout)
		}
		at = of[name]
	}
	for _, x := range at.([]any) {
		word, ok := x.(string)
		if !ok {
			word = x.(map[string]any)["part"].(string)
		}
		words = append(words, word)
	}
	return words
}

// marked are the parts of an export that have a mark.
func marked(t *testing.T, export []byte) (ids []string) {
	t.Helper()
	doc, err := opencode.Format{}.Read(export)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range doc.Session.Messages {
		for _, p := range m.Parts {
			if p.State != nil && p.State.Time != nil && p.State.Time.Compacted > 0 {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

func TestLive_aRunningOpenCodeIsToldOfMarksAndNothingElse(t *testing.T) {
	d, src, server := withServer(t)
	before, files := server.Export(t), d.files()

	d.run("prune", src, "--dry-run").wants(t, cli.ExitDone)
	if n := len(server.Changed()); n != 0 {
		t.Fatalf("--dry-run changed %d parts", n)
	}
	o := d.run("prune", src, "--json")
	o.wants(t, cli.ExitDone)
	applied := listIn(t, o, "server", "applied")
	if len(applied) < 2 || !cmp.Equal(applied, marked(t, server.Export(t))) {
		t.Errorf("applied %v, the server has marks on %v, want the same two or more", applied, marked(t, server.Export(t)))
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(listIn(t, o, "marked"))), slices.Sorted(slices.Values(applied))); diff != "" {
		t.Errorf("marked and applied differ:\n%s", diff)
	}
	for _, r := range listIn(t, o, "refusals") {
		if slices.Contains(applied, r) {
			t.Errorf("%s is refused and applied", r)
		}
	}
	d.run("prune", src).wants(t, cli.ExitNothing, "nothing")

	after := server.Export(t)
	d.run("restore", src, applied[0]).says(t, cli.ExitDone, "changed 1 mark", "winnow prune "+src)
	if slices.Contains(marked(t, server.Export(t)), applied[0]) {
		t.Error("the part that was restored still has its mark")
	}
	d.run("prune", src).says(t, cli.ExitDone, "Undo with: winnow undo "+src, server.URL)
	if got := marked(t, server.Export(t)); !cmp.Equal(got, marked(t, after)) {
		t.Errorf("pruned again, %v are marked, want %v", got, marked(t, after))
	}
	d.run("undo", src).wants(t, cli.ExitDone) // the newest pruning
	d.run("undo", src).says(t, cli.ExitDone, "Leave out again with: winnow prune "+src)
	same(t, "after undo", server.Export(t), before)
	d.run("undo", src).wants(t, cli.ExitNothing, "nothing is left out")
	if now := d.files(); !cmp.Equal(now, files) {
		t.Errorf("there are the files %v, want %v: nothing was to be written", now, files)
	}
}

func TestLive_aFailureInTheMiddleSaysWhatIsApplied(t *testing.T) {
	d, src, server := withServer(t)
	before := server.Export(t)
	asked, last := 0, ""
	server.Refuse = func(part string) int {
		if asked, last = asked+1, part; asked > 2 {
			return http.StatusInternalServerError
		}
		return 0
	}
	o := d.run("prune", src, "--json")
	o.wants(t, cli.ExitPartly, "changed in part", "refused by the test", "not tried")
	applied, left := listIn(t, o, "server", "applied"), listIn(t, o, "server", "left")
	if got := marked(t, server.Export(t)); len(applied) != 2 || !cmp.Equal(applied, got) || left[0] != last {
		t.Errorf("applied %v, left %v; the server has %v and refused %s", applied, left, got, last)
	}
	server.Refuse = nil
	again := listIn(t, d.run("prune", src, "--json"), "server", "applied")
	slices.Sort(again)
	slices.Sort(left)
	if !cmp.Equal(again, left) {
		t.Errorf("the second time %v were applied, want what was left: %v", again, left)
	}
	d.run("undo", src).wants(t, cli.ExitDone)
	if got := marked(t, server.Export(t)); !cmp.Equal(got, applied) {
		t.Errorf("with the second pruning undone %v are marked, want those of the first: %v", got, applied)
	}
	d.run("undo", src).wants(t, cli.ExitDone)
	same(t, "after undo", server.Export(t), before)

	server.Refuse = func(string) int { return http.StatusInternalServerError }
	d.run("prune", src).wants(t, cli.ExitFailed, "nothing was changed")
	server.Refuse = nil
	d.run("prune", src).wants(t, cli.ExitDone)
	server.Forget = true
	d.run("undo", src).wants(t, cli.ExitFailed, "did not keep it")
}

func TestLive_whatOpenCodeMarkedItselfStays(t *testing.T) {
	for _, when := range []float64{1, 4e12} { // before and after what winnow does
		d, src, server := withServer(t)
		once, theirs := false, ""
		server.Edit(func(part map[string]any) {
			state, _ := part["state"].(map[string]any)
			if state["status"] == "completed" && !once {
				once, theirs = true, part["id"].(string)
				state["time"].(map[string]any)["compacted"] = when
			}
		})
		before := server.Export(t)
		refused := d.run("undo", src)
		refused.wants(t, cli.ExitNothing, "is not winnow's: opencode did it", "winnow restore "+src+" PART")
		d.run("prune", src).wants(t, cli.ExitDone)
		undone := d.run("undo", src)
		if when > 1 { // it is the newest
			undone.wants(t, cli.ExitNothing, "is not winnow's")
			continue
		}
		undone.wants(t, cli.ExitDone)
		same(t, "after undo", server.Export(t), before)
		d.run("restore", src, theirs).wants(t, cli.ExitDone)
		if got := marked(t, server.Export(t)); len(got) != 0 {
			t.Errorf("restored by name, %v is still marked", got)
		}
	}
}

func TestLive_withoutAServerAFileAndItsLimits(t *testing.T) {
	d, src, server := withServer(t)
	d.openCode = "http://127.0.0.1:1"
	const limit = "changes nothing in messages that a store has already"
	o := d.run("prune", src)
	o.says(t, cli.ExitDone, "Written to", limit, "no OpenCode server answers there", "run `opencode serve`")
	o = d.run("prune", src, "-f", "--json")
	o.wants(t, cli.ExitDone)
	if limits := listIn(t, o, "limits"); len(limits) != 3 || !strings.Contains(limits[0], limit) {
		t.Errorf("limits: %q", limits)
	}
	d.run("prune", src, "--in-place").wants(t, cli.ExitFailed, "no OpenCode server answers there", "opencode serve")
	d.run("prune", src, "--server", "http://127.0.0.1:1").wants(t, cli.ExitFailed, "no OpenCode server answers there")

	// A server of another store is not asked for more than the session.
	d.openCode = server.URL
	server.Edit(func(map[string]any) {})
	other := opencodetest.Start(t, bytes.ReplaceAll(server.Export(t), []byte(strings.TrimPrefix(src, "opencode:")), []byte("ses_other")))
	d.openCode = other.URL
	d.run("prune", src, "-f").says(t, cli.ExitDone, "Written to", "does not have this session")
	d.run("prune", src, "--in-place").wants(t, cli.ExitFailed, "does not have this session", "--server URL")
	if n := len(other.Changed()); n != 0 {
		t.Errorf("%d parts of another session were changed", n)
	}
	d.openCode = server.URL
	seen := len(server.Seen())
	d.run("prune", src, "-o", "file.json").says(t, cli.ExitDone, limit)
	if len(server.Seen()) != seen {
		t.Error("with -o the server was asked")
	}
	d.run("compact", src, "--to", "1000").says(t, cli.ExitDone, limit, "will arrive there too")
}

func TestLive_aPasswordIsSentToWhoAsksAndNeverTold(t *testing.T) {
	d, src, server := withServer(t)
	server.Password = "rope-and-tide"
	d.run("prune", src, "--in-place").wants(t, cli.ExitFailed, "OPENCODE_SERVER_PASSWORD")
	d.run("prune", src).says(t, cli.ExitDone, "Written to", "another password")
	d.env = append(d.env, "OPENCODE_SERVER_PASSWORD=wrong-tide")
	d.run("prune", src, "--in-place").wants(t, cli.ExitFailed, "another password")
	d.env[len(d.env)-1] = "OPENCODE_SERVER_PASSWORD=rope-and-tide"
	o := d.run("prune", src)
	o.says(t, cli.ExitDone, server.URL)
	if strings.Contains(o.stdout+o.stderr, "rope-and-tide") {
		t.Error("the password is in what was printed")
	}
	with := strings.Replace(server.URL, "://", "://opencode:rope-and-tide@", 1)
	o = d.run("prune", src, "--server", with)
	o.wants(t, cli.ExitUsage, "without a password")
	if strings.Contains(o.stdout+o.stderr, "rope-and-tide") {
		t.Error("the password is in what was printed")
	}
	server.Password = ""
	seen := len(server.Seen())
	d.run("undo", src).wants(t, cli.ExitDone)
	for _, r := range server.Seen()[seen:] {
		if r.Header.Get("Authorization") != "" {
			t.Fatalf("%s %s has the password that nobody asked for", r.Method, r.URL)
		}
	}
}

func TestLive_flags(t *testing.T) {
	d, src, server := withServer(t)
	d.run("prune", src, "--server", server.URL, "-o", "x.json").wants(t, cli.ExitUsage, "leave out -o")
	d.run("prune", "opencode.json", "--server", server.URL).wants(t, cli.ExitUsage, "for sessions of OpenCode")
	d.run("prune", src, "--server", "localhost:4096").wants(t, cli.ExitUsage, "is like http://127.0.0.1:4096")
	// A session of another computer is known to the server alone, by its whole id.
	if err := os.RemoveAll(filepath.Join(filepath.Dir(d.dir), "home", ".local", "share", "opencode")); err != nil {
		t.Fatal(err)
	}
	d.run("prune", src).wants(t, cli.ExitFailed, "there is no session of opencode")
	d.run("prune", src, "--server", server.URL).says(t, cli.ExitDone, "--server "+server.URL)
	d.run("undo", src, "--server", server.URL).wants(t, cli.ExitDone)
}

func TestLive_anInterruptionStopsBetweenTwoMarks(t *testing.T) {
	d, src, server := withServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := ""
	server.Refuse = func(part string) int {
		if first == "" {
			first = part
		} else {
			cancel()
		}
		return 0
	}
	o := d.runWith(ctx, strings.NewReader(""), new(bytes.Buffer), "prune", src)
	o.wants(t, cli.ExitPartly, "changed in part", "not tried after that")
	if strings.Contains(o.stderr, first) {
		t.Errorf("%s was applied and is listed as left: %s", first, o.stderr)
	}
	server.Refuse = nil
	d.run("prune", src).wants(t, cli.ExitDone)
}

func TestLive_aCompactionThatWasImportedIsRemoved(t *testing.T) {
	d, src, server := withServer(t)
	before := server.Export(t)
	// The summariser's part is all that says whose the summary is.
	d.run("compact", "opencode.json", "-o", "folded.json", "--policy", "classic").wants(t, cli.ExitDone)
	folded := d.read("folded.json")
	d.openCode = opencodetest.Start(t, folded).URL
	server = opencodetest.Start(t, folded)
	d.openCode = server.URL
	o := d.run("undo", src, "--json")
	o.wants(t, cli.ExitDone)
	if removed := listIn(t, o, "server", "removed"); len(removed) < 2 {
		t.Errorf("removed %v, want a marker and its summary", removed)
	}
	now, err := opencode.Format{}.Read(server.Export(t))
	if err != nil {
		t.Fatal(err)
	}
	was, err := opencode.Format{}.Read(before)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(now.Session.Messages), len(was.Session.Messages); got != want {
		t.Errorf("the server has %d messages, want %d", got, want)
	}
	kept, err := os.ReadFile(o.document(t)["kept"].(string))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := opencode.Format{}.Read(kept)
	if err != nil || len(doc.Damaged) > 0 || doc.Session.Messages[0].Marker() == nil ||
		len(doc.Session.Messages)+len(was.Session.Messages) != len(read(t, folded).Session.Messages) {
		t.Errorf("what was removed is not kept: %v\n%s", err, kept)
	}
}

func read(t *testing.T, export []byte) *format.Document {
	t.Helper()
	doc, err := opencode.Format{}.Read(export)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestLive_aCompactionOfOpenCodesOwnStays(t *testing.T) {
	d, src, _ := withServer(t)
	d.run("compact", "opencode.json", "-o", "folded.json", "--policy", "classic").wants(t, cli.ExitDone)
	server := opencodetest.Start(t, d.read("folded.json"))
	server.Edit(func(part map[string]any) { // as the product would have made it
		if part["type"] == "text" {
			delete(part, "metadata")
		}
	})
	d.openCode = server.URL
	before := server.Export(t)
	d.put("theirs.json", before)
	marker := ""
	for _, m := range read(t, before).Session.Messages {
		if m.Marker() != nil {
			marker = m.ID
		}
	}
	for _, of := range []string{src, "theirs.json"} {
		d.run("undo", of).wants(t, cli.ExitNothing, "is not winnow's: opencode made it", "winnow undo "+of+" "+marker)
	}
	d.run("undo", "theirs.json", marker, "-o", "undone.json").wants(t, cli.ExitDone)
	d.run("undo", src, marker, "--in-place").wants(t, cli.ExitFailed, "OpenCode made this compaction itself")
	d.run("undo", src, marker).says(t, cli.ExitDone, "Written to", "the removal of 2 messages")
	same(t, "the server's session", server.Export(t), before)
}

func TestLive_whatWasFoldedIsRestoredInAFile(t *testing.T) {
	d, src, _ := withServer(t)
	part := ""
	for _, m := range read(t, d.read("opencode.json")).Session.Messages {
		for _, p := range m.Parts {
			if p.State != nil && part == "" {
				part = p.ID
			}
		}
	}
	d.run("compact", "opencode.json", "-o", "folded.json", "--policy", "classic").wants(t, cli.ExitDone)
	server := opencodetest.Start(t, d.read("folded.json"))
	d.openCode = server.URL
	before := server.Export(t)
	d.run("restore", src, part, "--in-place").wants(t, cli.ExitFailed, "adds messages")
	d.run("restore", src, part).says(t, cli.ExitDone, "Written to")
	same(t, "the server's session", server.Export(t), before)
}
