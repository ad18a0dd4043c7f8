package main

import (
	"fmt"
	"strings"
)

// raceLog is what the race detector prints, with the given number of reports.
func raceLog(reports int) string {
	var b strings.Builder
	for i := range reports {
		fmt.Fprintf(&b, "==================\nWARNING: DATA RACE\nRead at 0x00c0000%05x by goroutine %d:\n  larder.example/larder/internal/remind.(*Scheduler).Fired()\n      %s/internal/remind/scheduler.go:76 +0x4c\n  larder.example/larder/internal/remind.TestScheduler_countsWhatFired()\n      %s/internal/remind/scheduler_test.go:31 +0x1a4\n  testing.tRunner()\n      /usr/local/go/src/testing/testing.go:1792 +0x225\n\nPrevious write at 0x00c0000%05x by goroutine %d:\n  larder.example/larder/internal/remind.(*Scheduler).run()\n      %s/internal/remind/scheduler.go:61 +0xd8\n  larder.example/larder/internal/remind.(*Scheduler).Start.func1()\n      %s/internal/remind/scheduler.go:48 +0x1b0\n\nGoroutine %d (running) created at:\n  testing.(*T).Run()\n      /usr/local/go/src/testing/testing.go:1851 +0x8f2\n==================\n",
			0x14a0+i*48, 18+i*4, root, root, 0x14a0+i*48, 19+i*4, root, root, 18+i*4)
	}
	b.WriteString("--- FAIL: TestScheduler_countsWhatFired (0.02s)\n    testing.go:1490: race detected during execution of test\nFAIL\nFAIL\tlarder.example/larder/internal/remind\t0.911s\nFAIL\n")
	return b.String()
}

// icalNotes is a page of notes on calendars.
func icalNotes() string {
	var b strings.Builder
	b.WriteString("# Notes on calendar feeds\n\nA feed is plain text in UTF-8. Lines end with CR LF. A line has at most 75 octets; a longer one is folded: CR LF and one space, and the space belongs to the continued line. Fold between characters, never inside of one.\n\nIn text values a comma, a semicolon and a backslash are written with a backslash before them, a newline as `\\n`.\n\n## What an all-day event needs\n\n")
	for _, p := range []struct{ name, text string }{
		{"UID", "A name that stays the same for as long as the event exists. Phones use it to update instead of adding twice."},
		{"DTSTAMP", "When the entry was written, in UTC."},
		{"DTSTART;VALUE=DATE", "The day, eight digits."},
		{"SUMMARY", "One line for people, escaped like every text value."},
		{"CATEGORIES", "Words to filter by, separated by commas that are not escaped."},
		{"X-PUBLISHED-TTL", "How often a reader should ask again; many readers ignore it."},
	} {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n```\n%s:example\n```\n\n", p.name, p.text, p.name)
	}
	b.WriteString("## How readers behave\n\n| reader | asks every | keeps removed events |\n|---|---|---|\n")
	for i, reader := range []string{"phone A", "phone B", "desktop A", "desktop B", "web A", "web B"} {
		fmt.Fprintf(&b, "| %s | %d minutes | %v |\n", reader, 15*(i+1), i%2 == 0)
	}
	for i := range 24 {
		fmt.Fprintf(&b, "\n## Question %d\n\nWhat happens when event %d moves to another day? The reader takes the newest DTSTAMP for a UID, so that the old day is emptied after the next poll. A reader that was offline for longer than its cache allows asks for the whole feed again and compares %d fields.\n", i+1, i+1, 3+i%5)
	}
	return b.String()
}

const expiryGo = `// Package expiry answers: what goes off, and when?
package expiry

import (
	"sort"
	"time"

	"larder.example/larder/internal/store"
)

// Within returns the batches that go off within so many days, soonest first. Batches without a date are left out.
func Within(all []store.Batch, now time.Time, days int) []store.Batch {
	last := dayOf(now).AddDate(0, 0, days)
	var soon []store.Batch
	for _, b := range all {
		if b.BestBefore.IsZero() || b.BestBefore.Before(dayOf(now)) || b.BestBefore.After(last) {
			continue
		}
		soon = append(soon, b)
	}
	sort.Slice(soon, func(i, j int) bool { return soon[i].BestBefore.Before(soon[j].BestBefore) })
	return soon
}
`

const expiryTestGo = `package expiry

import (
	"testing"
	"time"

	"larder.example/larder/internal/store"
)

var today = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func in(days int) store.Batch {
	return store.Batch{BestBefore: today.Truncate(24*time.Hour).AddDate(0, 0, days)}
}

func TestWithin_takesTodayAndTheLastDay(t *testing.T) {
	if got := Within([]store.Batch{in(0), in(3), in(4)}, today, 3); len(got) != 2 {
		t.Fatalf("got %d batches, want 2", len(got))
	}
}

func TestWithin_leavesOutWhatHasNoDate(t *testing.T) {
	if got := Within([]store.Batch{{}}, today, 3); len(got) != 0 {
		t.Fatalf("got %d batches, want none", len(got))
	}
}

func TestWithin_soonestFirst(t *testing.T) {
	got := Within([]store.Batch{in(2), in(1)}, today, 3)
	if !got[0].BestBefore.Before(got[1].BestBefore) {
		t.Fatal("not sorted")
	}
}
`

const expiringGo = `package web

import (
	"net/http"
	"strconv"

	"larder.example/larder/internal/expiry"
)

// expiring answers with the batches that go off within ?days=N.
func (v *Server) expiring(w http.ResponseWriter, r *http.Request) {
	days, _ := strconv.Atoi(r.URL.Query().Get("days"))
	if days == 0 {
		days = 3
	}
	v.reply(w, http.StatusOK, expiry.Within(v.store.AllBatch(), v.now(), days))
}
`

const expiringTestGo = `package web

import (
	"net/http"
	"testing"
)

func TestExpiring_defaultsToThreeDays(t *testing.T) {
	v := testServer(t)
	if w := v.do("GET", "/expiring", ""); w.Code != http.StatusOK {
		t.Fatalf("got %d", w.Code)
	}
}

func TestExpiring_zeroDaysIsToday(t *testing.T) {
	v := testServer(t)
	v.batch(0)
	v.batch(1)
	v.batch(2)
	got := v.batches("GET", "/expiring?days=0")
	if len(got) != 1 {
		t.Fatalf("GET /expiring?days=0: got %d batches, want 1", len(got))
	}
}

func TestExpiring_refusesNonsense(t *testing.T) {
	v := testServer(t)
	if w := v.do("GET", "/expiring?days=soon", ""); w.Code != http.StatusBadRequest {
		t.Fatalf("got %d", w.Code)
	}
}
`

const csvTestNew = `package imports

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

const header = "received,item,count,shelf,best_before\n"

func TestRead_takesOneLine(t *testing.T) {
	all, bad, err := Read(strings.NewReader(header + "2026-02-01,feta,12,A1,2026-03-09\n"))
	if err != nil || len(bad) != 0 || len(all) != 1 {
		t.Fatalf("got %v, %v, %v", all, bad, err)
	}
}

func TestRead_refusesMissingHeader(t *testing.T) {
	if _, _, err := Read(strings.NewReader("")); err == nil {
		t.Fatal("an empty file was taken")
	}
}

func TestRead_numbersBadLines(t *testing.T) {
	f, err := os.Open("../../testdata/deliveries.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, bad, err := Read(f)
	if err != nil || len(bad) != 4 {
		t.Fatalf("got %d bad lines, %v; want 4", len(bad), err)
	}
	if bad[0].Line != 7 {
		t.Errorf("line of the first bad date: got %d, want 7", bad[0].Line)
	}
}

func TestBadLine_unwraps(t *testing.T) {
	_, bad, _ := Read(strings.NewReader(header + "2026-02-01,feta,12,A1,soon\n"))
	var parse *time.ParseError
	if len(bad) != 1 || !errors.As(bad[0], &parse) {
		t.Fatalf("got %v", bad)
	}
}
`

const feedGo = `package web

import (
	"fmt"
	"net/http"
	"strings"

	"larder.example/larder/internal/expiry"
)

// feed answers with a calendar of what goes off.
func (v *Server) feed(w http.ResponseWriter, r *http.Request) {
	batches := expiry.Within(v.store.AllBatch(), v.now(), 30)
	var b strings.Builder
	writeLine(&b, "BEGIN:VCALENDAR")
	writeLine(&b, "VERSION:2.0")
	writeLine(&b, "PRODID:-//larder//expiring//EN")
	for _, batch := range batches {
		item, err := v.store.Item(batch.Item)
		if err != nil {
			continue
		}
		writeLine(&b, "BEGIN:VEVENT")
		writeLine(&b, fmt.Sprintf("UID:batch-%d@larder.example", batch.ID))
		writeLine(&b, "DTSTAMP:"+v.now().UTC().Format("20060102T150405Z"))
		writeLine(&b, "DTSTART;VALUE=DATE:"+batch.BestBefore.Format("20060102"))
		writeLine(&b, fmt.Sprintf("SUMMARY:%s (%d) goes off", escape(item.Name), batch.Count))
		writeLine(&b, "END:VEVENT")
	}
	writeLine(&b, "END:VCALENDAR")
	w.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	fmt.Fprint(w, b.String())
}

// writeLine writes one line of a calendar.
func writeLine(b *strings.Builder, line string) {
	b.WriteString(line + "\r\n")
}

// escape writes a text value.
func escape(text string) string {
	return strings.NewReplacer("\\", "\\\\", ",", "\\,", ";", "\\;", "\n", "\\n").Replace(text)
}
`

const feedTestGo = `package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestFeed_isACalendar(t *testing.T) {
	v := testServer(t)
	w := v.do("GET", "/expiring.ics", "")
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "BEGIN:VCALENDAR\r\n") {
		t.Fatalf("got %d, %q", w.Code, w.Body)
	}
}

func TestFeed_namesTheBatch(t *testing.T) {
	v := testServer(t)
	v.batch(1)
	w := v.do("GET", "/expiring.ics", "")
	if !strings.Contains(w.Body.String(), "SUMMARY:") {
		t.Fatalf("no event in %q", w.Body)
	}
}
`

const feedFoldTests = `func TestFeed_foldsLongLines(t *testing.T) {
	v := testServer(t)
	v.item(strings.Repeat("crème fraîche, 30 % ", 12))
	v.batch(1)
	body := v.do("GET", "/expiring.ics", "").Body.String()
	for n, line := range strings.Split(body, "\r\n") {
		if len(line) > 75 {
			t.Errorf("line %d has %d octets, want at most 75: %q", n+1, len(line), line)
		}
		if !utf8.ValidString(line) {
			t.Errorf("line %d is not valid UTF-8: %q", n+1, line)
		}
	}
	unfolded := strings.ReplaceAll(body, "\r\n ", "")
	if !strings.Contains(unfolded, "crème fraîche, 30 %") {
		t.Errorf("unfolded text differs: want %q in %q", "crème fraîche, 30 %", unfolded)
	}
}

`
