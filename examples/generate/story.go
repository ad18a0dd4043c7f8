package main

import (
	"regexp"
	"strings"
)

var (
	logCreate = regexp.MustCompile(`log\.Printf\("(create) (\w+): %v", err\)`)
	logOther  = regexp.MustCompile(`log\.Printf\("(update|remove) (\w+) %d: %v", id, err\)`)
)

// tell is the story, turn by turn.
func tell(r *recorder) {
	expiry(r)
	csvImport(r)
	logging(r)
	race(r)
	calendar(r)
	answered(r)
	wrapUp(r)
}

func expiry(r *recorder) {
	r.ask("larder should know when things go off. Please add best-before dates to batches: `GET /expiring?days=N` lists the batches that expire within N days (default 3), and the daily report gets a section \"Goes off soon\" that looks like the attached sketch.\n\nTwo rules for the whole job: Never touch the Store type in internal/store/store.go, the billing team compiles against it. And only use the standard library, no new modules in go.mod.", "sketch-daily-report.png")
	r.say("I'll look at the project first, then plan.")
	r.tour()
	r.readFile("AGENTS.md")
	r.say("")
	r.call("skill", "go-service", map[string]any{"name": "go-service"},
		"# Skill go-service\n\nFolder: "+root+"/.agents/skills/go-service\n\nHow services are written here:\n\n1. One package for each question; the domain does not import net/http.\n2. Errors are wrapped with %w and say which operation failed.\n3. Handlers are tested through the router with httptest.\n4. A clock is a function field, never time.Now inside logic.\n5. `go vet ./...` and `go test ./...` before a change is called done.\n", false, map[string]any{"name": "go-service"})
	r.say("")
	r.todo("> Add best-before dates to batches without changing Store",
		"- Package expiry: which batches expire within N days", "- GET /expiring?days=N",
		"- Section in the daily report", "- Tests and docs")
	r.say("")
	r.readFile("internal/store/store.go")
	r.readFile("internal/store/batch.go")
	r.readFile("internal/store/item.go")
	r.readFile("internal/store/shelf.go")
	r.say("")
	r.readFile("internal/web/server.go")
	r.readFile("internal/web/batch.go")
	r.readFile("internal/web/batch_test.go")
	r.readFile("internal/web/item_test.go")
	r.say("")
	r.search(`store\.Batch\{|AllBatch\(`, "internal")
	r.glob("**/*_test.go", "_test.go")
	r.say("Baseline before I change anything.")
	r.test("go test ./... -v", "", nil)
	r.say("The Batch struct is not the Store type, so a field there is allowed. I'll use a pointer-free `BestBefore time.Time` with the zero value meaning \"unknown\", because the journal then stays readable by the billing program without a migration.")
	r.change("internal/store/batch.go", "\tReceived time.Time `json:\"received\"` // when it came in\n",
		"\tReceived time.Time `json:\"received\"` // when it came in\n\tBestBefore time.Time `json:\"bestbefore\"` // zero when unknown\n")
	r.say("")
	r.writeFile("internal/expiry/expiry.go", expiryGo)
	r.writeFile("internal/expiry/expiry_test.go", expiryTestGo)
	r.say("")
	r.bash("go test ./internal/expiry", "Run the expiry tests",
		"# larder.example/larder/internal/expiry [larder.example/larder/internal/expiry.test]\ninternal/expiry/expiry.go:21:19: undefined: dayOf\ninternal/expiry/expiry.go:24:13: undefined: dayOf\nFAIL\tlarder.example/larder/internal/expiry [build failed]\nFAIL\n", 1)
	r.say("I forgot the helper that cuts a time to its day.")
	r.change("internal/expiry/expiry.go", "// Within returns",
		"// dayOf cuts a time to its day in UTC.\nfunc dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }\n\n// Within returns")
	r.say("")
	r.test("go test ./internal/expiry", "internal/expiry", nil)
	r.say("Now the endpoint.")
	r.change("internal/web/server.go", "\tv.mux.HandleFunc(\"GET /report/daily\", v.daily)\n",
		"\tv.mux.HandleFunc(\"GET /expiring\", v.expiring)\n\tv.mux.HandleFunc(\"GET /report/daily\", v.daily)\n")
	r.writeFile("internal/web/expiring.go", expiringGo)
	r.writeFile("internal/web/expiring_test.go", expiringTestGo)
	r.say("")
	r.test("go test ./internal/web", "internal/web",
		map[string]string{"TestExpiring_zeroDaysIsToday": "    expiring_test.go:29: GET /expiring?days=0: got 3 batches, want 1\n"})
	r.say("`days=0` is treated as \"not given\". The root cause is that the handler uses 0 as the mark for a missing parameter.")
	r.readFile("internal/web/expiring.go")
	r.change("internal/web/expiring.go",
		"\tdays, _ := strconv.Atoi(r.URL.Query().Get(\"days\"))\n\tif days == 0 {\n\t\tdays = 3\n\t}\n",
		"\tdays := 3\n\tif text := r.URL.Query().Get(\"days\"); text != \"\" {\n\t\tn, err := strconv.Atoi(text)\n\t\tif err != nil || n < 0 {\n\t\t\tv.reply(w, http.StatusBadRequest, map[string]string{\"error\": \"days is no number from 0 up\"})\n\t\t\treturn\n\t\t}\n\t\tdays = n\n\t}\n")
	r.say("")
	r.test("go test ./internal/web", "internal/web", nil)
	r.say("Now the report. The sketch shows the section between \"To order\" and \"In stock\".")
	r.readFile("internal/report/daily.go")
	r.readFile("internal/report/daily_test.go")
	r.say("")
	r.change("internal/report/daily.go", "\tfmt.Fprintln(w, \"In stock\")\n",
		"\tfmt.Fprintln(w, \"Goes off soon\")\n\tfor _, b := range expiry.Within(s.AllBatch(), now, 3) {\n\t\tfmt.Fprintf(w, \"  %-24s %4d until %s\\n\", names[b.Item], b.Count, b.BestBefore.Format(time.DateOnly))\n\t}\n\tfmt.Fprintln(w, \"In stock\")\n")
	r.change("internal/report/daily.go",
		"func Daily(w io.Writer, s *store.Store) error {\n\tcounts := map[int64]int{}\n",
		"func Daily(w io.Writer, s *store.Store, now time.Time) error {\n\tcounts, names := map[int64]int{}, map[int64]string{}\n\tfor _, item := range s.AllItem() {\n\t\tnames[item.ID] = item.Name\n\t}\n")
	r.change("internal/report/daily.go", "\t\"sort\"\n\n",
		"\t\"sort\"\n\t\"time\"\n\n\t\"larder.example/larder/internal/expiry\"\n")
	r.say("")
	r.bash("go vet ./...", "Vet everything",
		"# larder.example/larder/internal/report\nvet: internal/report/daily_test.go:14:21: not enough arguments in call to Daily\n\thave (*strings.Builder, *store.Store)\n\twant (io.Writer, *store.Store, time.Time)\n", 1)
	r.say("")
	r.change("internal/report/daily_test.go", "Daily(&b, s)", "Daily(&b, s, time.Now())")
	r.change("internal/report/daily_test.go", "Daily(&b, store.New())", "Daily(&b, store.New(), time.Now())")
	r.change("internal/report/daily_test.go", "\t\"testing\"\n", "\t\"testing\"\n\t\"time\"\n")
	r.say("")
	r.bash("go vet ./...", "Vet everything", "", 0)
	r.test("go test ./... -v", "", nil)
	r.say("")
	r.bash("git diff --stat", "What changed",
		" internal/report/daily.go      | 14 ++++++++++++--\n internal/report/daily_test.go |  5 +++--\n internal/store/batch.go       |  1 +\n internal/web/server.go        |  1 +\n 4 files changed, 17 insertions(+), 4 deletions(-)\n", 0)
	r.todo("x Add best-before dates to batches without changing Store",
		"x Package expiry: which batches expire within N days", "x GET /expiring?days=N",
		"x Section in the daily report", "> Tests and docs")
	r.say("Batches have a `BestBefore`, `GET /expiring?days=N` lists what goes off, and the daily report has the section \"Goes off soon\". Store is untouched and go.mod has no new modules. All tests pass.")
}

func csvImport(r *recorder) {
	r.ask("Good. Next: the CSV import ignores best_before, and one bad date aborts the whole file. A bad line must not abort the import: collect the bad lines and report them at the end with their line numbers. Always wrap errors with %w please, so that callers can use errors.Is.")
	r.say("")
	r.readFile("internal/imports/csv.go")
	r.readFile("internal/imports/csv_test.go")
	r.readFile("testdata/deliveries.csv")
	r.say("Some suppliers write the date as 2.3.2026. I decided to accept only ISO dates and to report the others, rather than guessing the order of day and month.")
	r.change("internal/imports/csv.go",
		"// Read reads a delivery file. It stops at the first line that is wrong.\nfunc Read(r io.Reader) ([]Delivery, error) {\n", "// BadLine is a line that could not be taken.\ntype BadLine struct {\n\tLine int\n\tErr  error\n}\n\nfunc (b BadLine) Error() string { return fmt.Sprintf(\"line %d: %v\", b.Line, b.Err) }\nfunc (b BadLine) Unwrap() error { return b.Err }\n\n// Read reads a delivery file. Lines that are wrong are left out and returned beside the rest.\nfunc Read(r io.Reader) ([]Delivery, []BadLine, error) {\n")
	r.change("internal/imports/csv.go", "\t\treturn nil, fmt.Errorf(\"header: %v\", err)\n\t}\n\tvar all []Delivery\n",
		"\t\treturn nil, nil, fmt.Errorf(\"header: %w\", err)\n\t}\n\tvar all []Delivery\n\tvar bad []BadLine\n")
	r.say("")
	r.missEdit("internal/imports/csv.go",
		"\t\tif err == io.EOF {\n\t\t\treturn all, nil\n\t\t}\n\t\tif err != nil {\n\t\t\treturn nil, nil, err\n\t\t}\n", "")
	r.say("")
	r.readFile("internal/imports/csv.go")
	r.change("internal/imports/csv.go",
		"\t\t\treturn all, nil\n\t\t}\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n\t\td, err := parse(fields)\n\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n", "\t\t\treturn all, bad, nil\n\t\t}\n\t\tline, _ := in.FieldPos(0)\n\t\tif err != nil {\n\t\t\tbad = append(bad, BadLine{line, err})\n\t\t\tcontinue\n\t\t}\n\t\td, err := parse(fields)\n\t\tif err != nil {\n\t\t\tbad = append(bad, BadLine{line, err})\n\t\t\tcontinue\n\t\t}\n")
	r.change("internal/imports/csv.go", "Count: d.Count, Received: d.Received}",
		"Count: d.Count, Received: d.Received, BestBefore: d.BestBefore}")
	r.change("internal/imports/csv.go",
		"\tif d.BestBefore, err = time.Parse(time.DateOnly, fields[4]); err != nil {\n\t\treturn d, err\n",
		"\tif d.BestBefore, err = time.Parse(time.DateOnly, fields[4]); err != nil {\n\t\treturn d, fmt.Errorf(\"best_before: %w\", err)\n")
	r.say("")
	r.test("go test ./internal/imports", "internal/imports",
		map[string]string{"TestRead_sampleFile": "    csv_test.go:30: assignment mismatch: 2 variables but Read returns 3 values\n"})
	r.say("The tests still expect the old signature.")
	r.writeFile("internal/imports/csv_test.go", csvTestNew)
	r.say("")
	r.test("go test ./internal/imports -v", "internal/imports",
		map[string]string{"TestRead_numbersBadLines": "    csv_test.go:41: line of the first bad date: got 0, want 7\n"})
	r.say("`FieldPos` must be asked after a successful read, and it panics or gives 0 otherwise. So I take the line from `csv.ParseError` when the record itself is broken.")
	r.readRange("internal/imports/csv.go", 30, 45)
	r.change("internal/imports/csv.go", "\t\tline, _ := in.FieldPos(0)\n\t\tif err != nil {\n",
		"\t\tline := 0\n\t\tvar broken *csv.ParseError\n\t\tif errors.As(err, &broken) {\n\t\t\tline = broken.Line\n\t\t} else if err == nil {\n\t\t\tline, _ = in.FieldPos(0)\n\t\t}\n\t\tif err != nil {\n")
	r.change("internal/imports/csv.go", "\t\"encoding/csv\"\n", "\t\"encoding/csv\"\n\t\"errors\"\n")
	r.say("")
	r.test("go test ./internal/imports -v", "internal/imports", nil)
	r.test("go test ./... -v", "", nil)
	r.say("")
	r.readFile("internal/imports/csv.go")
	r.bash("git diff internal/imports internal/store", "Look at the change once more",
		r.diff("internal/imports", "internal/store"), 0)
	r.say("The import takes every good line, returns the bad ones with their line numbers, and keeps best_before. Four lines of testdata/deliveries.csv are reported as bad; all of them have dates like 6.5.2026.")
}

func logging(r *recorder) {
	r.ask("The logs are hard to search. I prefer log/slog over log.Printf everywhere, one line per request with method, path, status and duration. Don't log bodies.")
	r.say("")
	r.search(`log\.(Printf|Fatalf)|"log"`, "")
	r.readFile("internal/web/server.go")
	r.readFile("cmd/larderd/main.go")
	r.say("I'll wrap the ResponseWriter to learn the status instead of logging in each handler.")
	r.change("internal/web/server.go",
		"\tbegan := v.now()\n\tv.mux.ServeHTTP(w, r)\n\tlog.Printf(\"%s %s %s\", r.Method, r.URL.Path, v.now().Sub(began))\n", "\tbegan := v.now()\n\ts := &statusWriter{ResponseWriter: w, status: http.StatusOK}\n\tv.mux.ServeHTTP(s, r)\n\tslog.Info(\"request\", \"method\", r.Method, \"path\", r.URL.Path, \"status\", s.status, \"duration\", v.now().Sub(began))\n")
	r.change("internal/web/server.go", "\t\tlog.Printf(\"reply: %v\", err)\n",
		"\t\tslog.Error(\"reply\", \"err\", err)\n")
	r.change("internal/web/server.go", "\t\"log\"\n", "\t\"log/slog\"\n")
	r.writeFile("internal/web/status.go",
		"package web\n\nimport \"net/http\"\n\n// statusWriter remembers the status that was written.\ntype statusWriter struct {\n\thttp.ResponseWriter\n\tstatus int\n}\n\nfunc (s *statusWriter) WriteHeader(status int) {\n\ts.status = status\n\ts.ResponseWriter.WriteHeader(status)\n}\n")
	for _, k := range kinds[:3] {
		file := "internal/web/" + k.lower() + ".go"
		r.say("")
		r.readFile(file)
		r.change(file, "\t\tlog.Printf(\"create "+k.lower()+": %v\", err)\n",
			"\t\tslog.Error(\"create "+k.lower()+"\", \"err\", err)\n")
		r.change(file, "\t\tlog.Printf(\"update "+k.lower()+" %d: %v\", id, err)\n",
			"\t\tslog.Error(\"update "+k.lower()+"\", \"id\", id, \"err\", err)\n")
		r.change(file, "\t\tlog.Printf(\"remove "+k.lower()+" %d: %v\", id, err)\n",
			"\t\tslog.Error(\"remove "+k.lower()+"\", \"id\", id, \"err\", err)\n")
		if k.name != "Item" { // its import is forgotten, and found by the compiler
			r.change(file, "\t\"log\"\n", "\t\"log/slog\"\n")
		}
		r.say("")
		r.readFile(file)
	}
	r.say("The other five have the same three lines, so I'll use sed instead of editing each by hand.")
	var rest []string
	for _, k := range kinds[3:] {
		file := "internal/web/" + k.lower() + ".go"
		rest = append(rest, file)
		text := logCreate.ReplaceAllString(r.files[file], `slog.Error("$1 $2", "err", err)`)
		text = logOther.ReplaceAllString(text, `slog.Error("$1 $2", "id", id, "err", err)`)
		if k.name != "Batch" {
			text = strings.Replace(text, "\t\"log\"\n", "\t\"log/slog\"\n", 1)
		}
		r.files[file], r.dirty[file] = text, true
	}
	r.bash(`sed -i -E 's/log\.Printf\("(create) (\w+): %v", err\)/slog.Error("\1 \2", "err", err)/; s/log\.Printf\("(update|remove) (\w+) %d: %v", id, err\)/slog.Error("\1 \2", "id", id, "err", err)/' `+strings.Join(rest, " "), "Use slog in the other handlers", "", 0)
	r.bash(`sed -i 's/"log"/"log\/slog"/' internal/web/order.go internal/web/label.go internal/web/recipe.go internal/web/scanner.go`, "Import slog", "", 0)
	for _, file := range rest {
		r.say("")
		r.readFile(file)
	}
	r.say("")
	r.bash("go build ./...", "Build everything",
		"# larder.example/larder/internal/web\ninternal/web/batch.go:6:2: \"log\" imported and not used\ninternal/web/batch.go:37:3: undefined: slog\ninternal/web/batch.go:74:3: undefined: slog\ninternal/web/item.go:6:2: \"log\" imported and not used\ninternal/web/item.go:37:3: undefined: slog\n", 1)
	r.say("")
	r.change("internal/web/batch.go", "\t\"log\"\n", "\t\"log/slog\"\n")
	r.change("internal/web/item.go", "\t\"log\"\n", "\t\"log/slog\"\n")
	r.change("cmd/larderd/main.go", "\tlog.Printf(\"listening on %s\", *addr)\n",
		"\tslog.Info(\"listening\", \"addr\", *addr)\n")
	r.change("cmd/larderd/main.go", "\t\"log\"\n", "\t\"log\"\n\t\"log/slog\"\n")
	r.say("")
	r.bash("go build ./...", "Build everything", "", 0)
	r.test("go test ./... -v", "", nil)
	r.say("")
	r.readFile("internal/web/batch.go")
	r.readFile("internal/web/item.go")
	r.say("Every handler logs through log/slog, one line per request, no bodies. `log.Fatalf` stays in main because slog has no fatal level.")
}

func race(r *recorder) {
	r.ask("CI says there is a data race in internal/remind, about one run in five. Find the root cause before you change anything, don't just add a sleep.")
	r.say("")
	r.bash("go test -race -count=20 ./internal/remind", "Run the reminder tests with the race detector", raceLog(6), 1)
	r.readFile("internal/remind/scheduler.go")
	r.readFile("internal/remind/scheduler_test.go")
	r.say("Root cause: `run` increments `s.fired` after `due` gave the lock back, while `Fired` reads it without a lock. There is a second one: `due` returns a slice that shares its array with `s.pending`, so that a later `Add` sorts under the reader's feet. I'll use an atomic counter and copy the due reminders, because holding the lock while callbacks run could deadlock a callback that calls Add.")
	r.change("internal/remind/scheduler.go", "\tfired   int\n", "\tfired   atomic.Int64\n")
	r.change("internal/remind/scheduler.go", "\t\ts.fired++\n", "\t\ts.fired.Add(1)\n")
	r.change("internal/remind/scheduler.go", "func (s *Scheduler) Fired() int { return s.fired }\n",
		"func (s *Scheduler) Fired() int { return int(s.fired.Load()) }\n")
	r.change("internal/remind/scheduler.go", "\tdue := s.pending[:n]\n", "\tdue := slices.Clone(s.pending[:n])\n")
	r.say("")
	r.bash("go test -race -count=20 ./internal/remind", "Run the reminder tests with the race detector",
		"# larder.example/larder/internal/remind\ninternal/remind/scheduler.go:23:10: undefined: atomic\ninternal/remind/scheduler.go:72:9: undefined: slices\nFAIL\tlarder.example/larder/internal/remind [build failed]\nFAIL\n", 1)
	r.change("internal/remind/scheduler.go", "import (\n\t\"sort\"\n\t\"sync\"\n",
		"import (\n\t\"slices\"\n\t\"sort\"\n\t\"sync\"\n\t\"sync/atomic\"\n")
	r.say("")
	r.bash("go test -race -count=20 ./internal/remind", "Run the reminder tests with the race detector",
		"ok  \tlarder.example/larder/internal/remind\t1.482s\n", 0)
	r.bash("go test -race -v ./...", "Everything with the race detector", r.testLog("", true, nil), 0)
	r.say("")
	r.readFile("internal/remind/scheduler.go")
	r.bash("git status --short", "What changed", status(r), 0)
	r.say("The race is gone: 20 runs with -race are clean. `Stop` still panics when it is called twice; I left that alone since nobody asked for it.")
}

func calendar(r *recorder) {
	r.ask("Now a calendar feed: GET /expiring.ics, so that the head cook sees in her phone what goes off. There are notes on the format at https://notes.example.org/icalendar.html. Keep it small.")
	r.say("")
	r.call("webfetch", "https://notes.example.org/icalendar.html (text/markdown)",
		map[string]any{"url": "https://notes.example.org/icalendar.html", "format": "markdown"}, icalNotes(), false,
		nil)
	r.readFile("internal/web/expiring.go")
	r.readFile("internal/web/expiring_test.go")
	r.readFile("internal/web/label.go")
	r.readFile("internal/web/server.go")
	r.say("I'll write the feed by hand, about eighty lines, instead of a module: only the standard library is allowed.")
	r.todo("> GET /expiring.ics: one all-day event for each batch", "- Fold lines at 75 octets",
		"- README and CHANGELOG for expiry, import, logs, feed", "- Run the whole suite with -race")
	r.writeFile("internal/web/feed.go", feedGo)
	r.writeFile("internal/web/feed_test.go", feedTestGo)
	r.change("internal/web/server.go", "\tv.mux.HandleFunc(\"GET /expiring\", v.expiring)\n",
		"\tv.mux.HandleFunc(\"GET /expiring\", v.expiring)\n\tv.mux.HandleFunc(\"GET /expiring.ics\", v.feed)\n")
	r.say("")
	r.test("go test ./internal/web -v", "internal/web", nil)
	r.say("The feed works for batches that will expire. One thing that I cannot decide: should batches that have already expired stay in the feed for a while, or vanish on the day after?")
}

func answered(r *recorder) {
	r.ask("Keep them for seven days, then drop them. And make sure that the port stays 8417, it is burnt into the scanners.")
	r.say("")
	r.readFile("internal/web/feed.go")
	r.readFile("internal/expiry/expiry.go")
	r.change("internal/expiry/expiry.go", "// Within returns",
		"// Past returns the batches that expired at most so many days ago, oldest first.\nfunc Past(all []store.Batch, now time.Time, days int) []store.Batch {\n\tfirst := dayOf(now).AddDate(0, 0, -days)\n\tvar past []store.Batch\n\tfor _, b := range all {\n\t\tif !b.BestBefore.IsZero() && b.BestBefore.Before(dayOf(now)) && !b.BestBefore.Before(first) {\n\t\t\tpast = append(past, b)\n\t\t}\n\t}\n\tsort.Slice(past, func(i, j int) bool { return past[i].BestBefore.Before(past[j].BestBefore) })\n\treturn past\n}\n\n// Within returns")
	r.change("internal/web/feed.go", "\tbatches := expiry.Within(v.store.AllBatch(), v.now(), 30)\n",
		"\tbatches := expiry.Past(v.store.AllBatch(), v.now(), keepExpired)\n\tbatches = append(batches, expiry.Within(v.store.AllBatch(), v.now(), 30)...)\n")
	r.change("internal/web/feed.go", "// feed answers with",
		"// keepExpired is how many days a batch stays in the feed after its date.\nconst keepExpired = 7\n\n// feed answers with")
	r.say("")
	r.test("go test ./internal/web -v", "internal/web", nil)
	r.search("8417", "")
	r.say("")
	r.bash("curl -s -i http://localhost:8417/expiring.ics | head -20", "Look at the feed",
		"HTTP/1.1 200 OK\nContent-Type: text/calendar; charset=utf-8\nDate: Mon, 02 Mar 2026 10:21:44 GMT\nContent-Length: 1204\n\nBEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//larder//expiring//EN\nBEGIN:VEVENT\nUID:batch-31@larder.example\nDTSTART;VALUE=DATE:20260303\nSUMMARY:feta (12) goes off\nEND:VEVENT\n", 0)
	r.todo("x GET /expiring.ics: one all-day event for each batch", "> Fold lines at 75 octets",
		"- README and CHANGELOG for expiry, import, logs, feed", "- Run the whole suite with -race")
	r.say("Expired batches stay in the feed for seven days. The port is 8417 in the Makefile, the README and the flag's default; I changed none of them.")
}

func wrapUp(r *recorder) {
	r.ask("Great. Finish the rest of your list: long lines in the feed have to be folded, then README and CHANGELOG, then the whole suite with -race. Commit locally when it is green, but do not push.")
	r.say("")
	r.bash("git diff", "Everything since the last commit", r.diff(""), 0)
	r.readFile("README.md")
	r.readFile("CHANGELOG.md")
	r.change("README.md", "| GET /report/daily |",
		"| GET /expiring?days=N | batches that go off within N days, 3 when not given |\n| GET /expiring.ics | the same as a calendar, expired ones for seven days |\n| GET /report/daily |")
	r.change("CHANGELOG.md", "# Changes\n\n",
		"# Changes\n\n## 0.8.0\n\n- Batches have a best-before date; GET /expiring and GET /expiring.ics list what goes off.\n- The import reports bad lines with their numbers instead of stopping.\n- Logs are written with log/slog, one line per request.\n- A data race in the reminders is gone.\n\n")
	r.say("")
	r.change("internal/web/feed_test.go", "func TestFeed_namesTheBatch(", feedFoldTests+"func TestFeed_namesTheBatch(")
	r.change("internal/web/feed.go", "\tb.WriteString(line + \"\\r\\n\")\n",
		"\tfor len(line) > 75 {\n\t\tb.WriteString(line[:75] + \"\\r\\n \")\n\t\tline = line[75:]\n\t}\n\tb.WriteString(line + \"\\r\\n\")\n")
	r.say("")
	failing := "    feed_test.go:33: line 7 has 76 octets, want at most 75: \" e and the second half of a long name that goes on and on until it is too lo\"\n    feed_test.go:38: line 9 is not valid UTF-8: \" cr\\xc3\"\n"
	r.test("go test ./internal/web -v", "internal/web", map[string]string{"TestFeed_foldsLongLines": failing})
	r.say("Two faults: a continued line begins with a space, which counts, and a cut can fall into the middle of a character. I'll cut at 74 and step back to the start of a rune.")
	r.readFile("internal/web/feed.go")
	r.change("internal/web/feed.go",
		"\tfor len(line) > 75 {\n\t\tb.WriteString(line[:75] + \"\\r\\n \")\n\t\tline = line[75:]\n\t}\n",
		"\tfor limit := 75; len(line) > limit; limit = 74 {\n\t\tcut := limit\n\t\tfor !utf8.RuneStart(line[cut]) {\n\t\t\tcut--\n\t\t}\n\t\tb.WriteString(line[:cut] + \"\\r\\n \")\n\t\tline = line[cut:]\n\t}\n")
	r.say("")
	r.bash("go vet ./internal/web", "Vet the web package",
		"# larder.example/larder/internal/web\nvet: internal/web/feed.go:47:8: undefined: utf8\n", 1)
	r.change("internal/web/feed.go", "\t\"strings\"\n", "\t\"strings\"\n\t\"unicode/utf8\"\n")
	r.bash("go vet ./internal/web", "Vet the web package", "", 0)
	r.say("")
	r.test("go test ./internal/web -v", "internal/web",
		map[string]string{"TestFeed_foldsLongLines": "    feed_test.go:45: unfolded text differs: got \"crème fraîche\\\\, 30 %\", want \"crème fraîche, 30 %\"\n"})
	r.bash("go test -race -v ./...", "Is anything else broken?",
		r.testLog("", true, map[string]string{"TestFeed_foldsLongLines": "    feed_test.go:45: unfolded text differs: got \"crème fraîche\\\\, 30 %\", want \"crème fraîche, 30 %\"\n"}), 1)
	r.say("The folding is right now. What still fails is the comma: the feed escapes it as `\\,`, and the test unfolds but does not unescape. Next I will check in the notes whether SUMMARY must be escaped, then correct the test, and after that run the whole suite with -race.")
	r.todo("x GET /expiring.ics: one all-day event for each batch", "> Fold lines at 75 octets",
		"x README and CHANGELOG for expiry, import, logs, feed", "- Run the whole suite with -race",
		"- Commit locally, do not push")
	r.readFile("internal/web/feed.go")
	r.readFile("internal/web/feed_test.go")
	r.say("")
	r.search(`escape\(|unescape|ReplaceAll`, "internal/web")
}

// status is what "git status --short" prints.
func status(r *recorder) string {
	var b strings.Builder
	for _, name := range r.names("") {
		if r.dirty[name] {
			b.WriteString(" M " + name + "\n")
		}
	}
	return b.String()
}
