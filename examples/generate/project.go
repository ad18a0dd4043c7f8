package main

import (
	"fmt"
	"strings"
)

// kind is one thing that larder keeps; each has a store file, a handler file and a test file.
type kind struct {
	name, plural, doc string
	fields            []string // "Name Type comment"
}

var kinds = []kind{
	{"Item", "items", "something that the kitchen keeps in stock",
		[]string{"Name string what people call it", "Unit string how it is counted",
			"Minimum int below this it is ordered"}},
	{"Shelf", "shelves", "a place where items stand",
		[]string{"Room string the room", "Row int from the door", "Cold bool whether it is refrigerated"}},
	{"Supplier", "suppliers", "somebody who delivers",
		[]string{"Name string as on the invoice", "Phone string with country code",
			"LeadDays int from order to delivery"}},
	{"Order", "orders", "what was asked of a supplier",
		[]string{"Supplier int64 id of the supplier", "Placed time.Time when it was sent",
			"Lines int how many items it has"}},
	{"Batch", "batches", "a delivery of one item that came in together",
		[]string{"Item int64 id of the item", "Shelf int64 where it stands", "Count int how many are left",
			"Received time.Time when it came in"}},
	{"Label", "labels", "a sticker with a code that the scanners read",
		[]string{"Code string as printed", "Batch int64 what it is stuck on", "Printed time.Time when it was printed"}},
	{"Recipe", "recipes", "what a dish needs",
		[]string{"Title string of the dish", "Portions int how many it feeds", "Steps string one on each line"}},
	{"Scanner", "scanners", "a hand-held device that reports counts",
		[]string{"Serial string engraved below", "Room string where it hangs", "Seen time.Time last report"}},
}

func (k kind) lower() string { return strings.ToLower(k.name) }

// project is the tree as the session finds it.
func project() map[string]string {
	files := map[string]string{
		"go.mod":    "module larder.example/larder\n\ngo 1.24\n",
		"Makefile":  "test:\n\tgo test ./...\n\nrace:\n\tgo test -race ./...\n\nrun:\n\tgo run ./cmd/larderd -addr :8417\n",
		"AGENTS.md": "# Working on larder\n\n- Handlers live in internal/web, one file for each kind.\n- Every handler has a test that goes through the router.\n- Times are kept in UTC and shown in the canteen's zone.\n- `make test` before you say that something is done.\n- The store is shared with the billing team; ask before changing what it exports.\n",
		"README.md": readme, "CHANGELOG.md": changelog,
		"cmd/larderd/main.go":               mainGo,
		"internal/store/store.go":           storeGo(),
		"internal/web/server.go":            serverGo(),
		"internal/imports/csv.go":           csvGo,
		"internal/imports/csv_test.go":      csvTestGo,
		"internal/report/daily.go":          dailyGo,
		"internal/report/daily_test.go":     dailyTestGo,
		"internal/remind/scheduler.go":      schedulerGo,
		"internal/remind/scheduler_test.go": schedulerTestGo,
		"testdata/deliveries.csv":           deliveries(),
	}
	for _, k := range kinds {
		files["internal/store/"+k.lower()+".go"] = kindStore(k)
		files["internal/web/"+k.lower()+".go"] = kindHandlers(k)
		files["internal/web/"+k.lower()+"_test.go"] = kindTests(k)
	}
	return files
}

func storeGo() string {
	var b strings.Builder
	b.WriteString("// Package store keeps what larder knows, in memory and in a journal on disk.\npackage store\n\nimport (\n\t\"errors\"\n\t\"os\"\n\t\"sync\"\n\t\"time\"\n)\n\n// ErrNotFound is returned for an id that nothing has.\nvar ErrNotFound = errors.New(\"store: not found\")\n\n// Store is the whole state. The billing program compiles against it.\ntype Store struct {\n\tmu      sync.RWMutex\n\tjournal *os.File\n\tnext    int64\n\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "\t%s map[int64]%s\n", k.plural, k.name)
	}
	b.WriteString("}\n\n// Open reads the journal at path and returns the state that it leads to.\nfunc Open(path string) (*Store, error) {\n\tf, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\ts := New()\n\ts.journal = f\n\treturn s, s.replay()\n}\n\n// New returns an empty store without a journal.\nfunc New() *Store {\n\treturn &Store{\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "\t\t%s: map[int64]%s{},\n", k.plural, k.name)
	}
	b.WriteString("\t}\n}\n\n// record is one line of the journal.\ntype record struct {\n\tKind string    `json:\"kind\"`\n\tID   int64     `json:\"id\"`\n\tAt   time.Time `json:\"at\"`\n\tBody any       `json:\"body,omitempty\"`\n}\n\n// id hands out the next id. The caller holds the lock.\nfunc (s *Store) id() int64 {\n\ts.next++\n\treturn s.next\n}\n")
	return b.String()
}

func kindStore(k kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package store\n\nimport (\n\t\"fmt\"\n\t\"sort\"\n\t\"time\"\n)\n\n// %s is %s.\ntype %s struct {\n\tID int64 `json:\"id\"`\n", k.name, k.doc, k.name)
	for _, f := range k.fields {
		w := strings.SplitN(f, " ", 3)
		fmt.Fprintf(&b, "\t%s %s `json:\"%s\"` // %s\n", w[0], w[1], strings.ToLower(w[0]), w[2])
	}
	b.WriteString("}\n")
	for _, m := range []string{
		"// Add%[1]s stores a new %[2]s and returns it with its id.\nfunc (s *Store) Add%[1]s(v %[1]s) (%[1]s, error) {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tv.ID = s.id()\n\tif err := s.append(record{Kind: \"%[2]s\", ID: v.ID, At: time.Now().UTC(), Body: v}); err != nil {\n\t\treturn %[1]s{}, fmt.Errorf(\"add %[2]s: %%w\", err)\n\t}\n\ts.%[3]s[v.ID] = v\n\treturn v, nil\n}\n",
		"// %[1]s returns the %[2]s with this id.\nfunc (s *Store) %[1]s(id int64) (%[1]s, error) {\n\ts.mu.RLock()\n\tdefer s.mu.RUnlock()\n\tv, ok := s.%[3]s[id]\n\tif !ok {\n\t\treturn %[1]s{}, ErrNotFound\n\t}\n\treturn v, nil\n}\n",
		"// All%[1]s returns every %[2]s, by id.\nfunc (s *Store) All%[1]s() []%[1]s {\n\ts.mu.RLock()\n\tdefer s.mu.RUnlock()\n\tall := make([]%[1]s, 0, len(s.%[3]s))\n\tfor _, v := range s.%[3]s {\n\t\tall = append(all, v)\n\t}\n\tsort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })\n\treturn all\n}\n",
		"// Set%[1]s replaces the %[2]s with this id.\nfunc (s *Store) Set%[1]s(v %[1]s) error {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif _, ok := s.%[3]s[v.ID]; !ok {\n\t\treturn ErrNotFound\n\t}\n\tif err := s.append(record{Kind: \"%[2]s\", ID: v.ID, At: time.Now().UTC(), Body: v}); err != nil {\n\t\treturn fmt.Errorf(\"set %[2]s %%d: %%w\", v.ID, err)\n\t}\n\ts.%[3]s[v.ID] = v\n\treturn nil\n}\n",
		"// Drop%[1]s forgets the %[2]s with this id.\nfunc (s *Store) Drop%[1]s(id int64) error {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif _, ok := s.%[3]s[id]; !ok {\n\t\treturn ErrNotFound\n\t}\n\tif err := s.append(record{Kind: \"%[2]s\", ID: id, At: time.Now().UTC()}); err != nil {\n\t\treturn fmt.Errorf(\"drop %[2]s %%d: %%w\", id, err)\n\t}\n\tdelete(s.%[3]s, id)\n\treturn nil\n}\n",
	} {
		fmt.Fprintf(&b, "\n"+m, k.name, k.lower(), k.plural)
	}
	return b.String()
}

func serverGo() string {
	var b strings.Builder
	b.WriteString("// Package web serves larder over HTTP.\npackage web\n\nimport (\n\t\"encoding/json\"\n\t\"errors\"\n\t\"log\"\n\t\"net/http\"\n\t\"strconv\"\n\t\"time\"\n\n\t\"larder.example/larder/internal/store\"\n)\n\n// Server answers requests from a store.\ntype Server struct {\n\tstore *store.Store\n\tmux   *http.ServeMux\n\tnow   func() time.Time\n}\n\n// New returns a server for a store.\nfunc New(s *store.Store) *Server {\n\tv := &Server{store: s, mux: http.NewServeMux(), now: time.Now}\n\tv.routes()\n\treturn v\n}\n\nfunc (v *Server) routes() {\n")
	for _, k := range kinds {
		for _, r := range []string{"GET /%[2]s:list", "POST /%[2]s:create", "GET /%[2]s/{id}:show",
			"PUT /%[2]s/{id}:update", "DELETE /%[2]s/{id}:remove"} {
			w := strings.Split(fmt.Sprintf(r, k.name, k.plural), ":")
			if len(w) > 2 {
				w[1] = w[2]
			}
			fmt.Fprintf(&b, "\tv.mux.HandleFunc(%q, v.%s%s)\n", w[0], w[1], k.name)
		}
	}
	b.WriteString("\tv.mux.HandleFunc(\"GET /report/daily\", v.daily)\n\tv.mux.HandleFunc(\"GET /healthz\", v.health)\n}\n\n// ServeHTTP answers one request.\nfunc (v *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {\n\tbegan := v.now()\n\tv.mux.ServeHTTP(w, r)\n\tlog.Printf(\"%s %s %s\", r.Method, r.URL.Path, v.now().Sub(began))\n}\n\n// reply writes a value as JSON.\nfunc (v *Server) reply(w http.ResponseWriter, status int, value any) {\n\tw.Header().Set(\"Content-Type\", \"application/json\")\n\tw.WriteHeader(status)\n\tif err := json.NewEncoder(w).Encode(value); err != nil {\n\t\tlog.Printf(\"reply: %v\", err)\n\t}\n}\n\n// refuse writes an error with the status that fits it.\nfunc (v *Server) refuse(w http.ResponseWriter, err error) {\n\tstatus := http.StatusInternalServerError\n\tif errors.Is(err, store.ErrNotFound) {\n\t\tstatus = http.StatusNotFound\n\t}\n\tv.reply(w, status, map[string]string{\"error\": err.Error()})\n}\n\n// id reads the id out of the path.\nfunc (v *Server) id(r *http.Request) (int64, error) {\n\treturn strconv.ParseInt(r.PathValue(\"id\"), 10, 64)\n}\n\nfunc (v *Server) health(w http.ResponseWriter, r *http.Request) {\n\tw.WriteHeader(http.StatusNoContent)\n}\n")
	return b.String()
}

func kindHandlers(k kind) string {
	var b strings.Builder
	b.WriteString("package web\n\nimport (\n\t\"encoding/json\"\n\t\"fmt\"\n\t\"log\"\n\t\"net/http\"\n\n\t\"larder.example/larder/internal/store\"\n)\n")
	for _, m := range []string{
		"// list%[1]s answers with every %[2]s, by id.\nfunc (v *Server) list%[1]s(w http.ResponseWriter, r *http.Request) {\n\tall := v.store.All%[1]s()\n\tif all == nil {\n\t\tall = []store.%[1]s{}\n\t}\n\tv.reply(w, http.StatusOK, all)\n}\n",
		"// create%[1]s takes a new %[2]s from the body.\nfunc (v *Server) create%[1]s(w http.ResponseWriter, r *http.Request) {\n\tvar in store.%[1]s\n\tif err := json.NewDecoder(r.Body).Decode(&in); err != nil {\n\t\tv.reply(w, http.StatusBadRequest, map[string]string{\"error\": \"the body is no %[2]s: \" + err.Error()})\n\t\treturn\n\t}\n\tif err := check%[1]s(in); err != nil {\n\t\tv.reply(w, http.StatusUnprocessableEntity, map[string]string{\"error\": err.Error()})\n\t\treturn\n\t}\n\tout, err := v.store.Add%[1]s(in)\n\tif err != nil {\n\t\tlog.Printf(\"create %[2]s: %%v\", err)\n\t\tv.refuse(w, err)\n\t\treturn\n\t}\n\tw.Header().Set(\"Location\", fmt.Sprintf(\"/%[3]s/%%d\", out.ID))\n\tv.reply(w, http.StatusCreated, out)\n}\n",
		"// show%[1]s answers with one %[2]s.\nfunc (v *Server) show%[1]s(w http.ResponseWriter, r *http.Request) {\n\tid, err := v.id(r)\n\tif err != nil {\n\t\tv.reply(w, http.StatusBadRequest, map[string]string{\"error\": \"the id is no number\"})\n\t\treturn\n\t}\n\tout, err := v.store.%[1]s(id)\n\tif err != nil {\n\t\tv.refuse(w, err)\n\t\treturn\n\t}\n\tv.reply(w, http.StatusOK, out)\n}\n",
		"// update%[1]s replaces one %[2]s.\nfunc (v *Server) update%[1]s(w http.ResponseWriter, r *http.Request) {\n\tid, err := v.id(r)\n\tif err != nil {\n\t\tv.reply(w, http.StatusBadRequest, map[string]string{\"error\": \"the id is no number\"})\n\t\treturn\n\t}\n\tvar in store.%[1]s\n\tif err := json.NewDecoder(r.Body).Decode(&in); err != nil {\n\t\tv.reply(w, http.StatusBadRequest, map[string]string{\"error\": \"the body is no %[2]s: \" + err.Error()})\n\t\treturn\n\t}\n\tin.ID = id\n\tif err := v.store.Set%[1]s(in); err != nil {\n\t\tlog.Printf(\"update %[2]s %%d: %%v\", id, err)\n\t\tv.refuse(w, err)\n\t\treturn\n\t}\n\tv.reply(w, http.StatusOK, in)\n}\n",
		"// remove%[1]s forgets one %[2]s.\nfunc (v *Server) remove%[1]s(w http.ResponseWriter, r *http.Request) {\n\tid, err := v.id(r)\n\tif err != nil {\n\t\tv.reply(w, http.StatusBadRequest, map[string]string{\"error\": \"the id is no number\"})\n\t\treturn\n\t}\n\tif err := v.store.Drop%[1]s(id); err != nil {\n\t\tlog.Printf(\"remove %[2]s %%d: %%v\", id, err)\n\t\tv.refuse(w, err)\n\t\treturn\n\t}\n\tw.WriteHeader(http.StatusNoContent)\n}\n",
	} {
		fmt.Fprintf(&b, "\n"+m, k.name, k.lower(), k.plural)
	}
	fmt.Fprintf(&b, "\n// check%s reports what a %s lacks.\nfunc check%s(in store.%s) error {\n", k.name, k.lower(),
		k.name, k.name)
	for _, f := range k.fields {
		w := strings.SplitN(f, " ", 3)
		switch w[1] {
		case "string":
			fmt.Fprintf(&b, "\tif in.%s == \"\" {\n\t\treturn fmt.Errorf(\"%s: %s is missing\")\n\t}\n", w[0],
				k.lower(), strings.ToLower(w[0]))
		case "int", "int64":
			fmt.Fprintf(&b, "\tif in.%s < 0 {\n\t\treturn fmt.Errorf(\"%s: %s is %%d, below zero\", in.%s)\n\t}\n",
				w[0], k.lower(), strings.ToLower(w[0]), w[0])
		}
	}
	b.WriteString("\treturn nil\n}\n")
	return b.String()
}

func kindTests(k kind) string {
	var b strings.Builder
	b.WriteString("package web\n\nimport (\n\t\"net/http\"\n\t\"testing\"\n)\n")
	for _, c := range []struct{ name, method, path, body, want string }{
		{"startsEmpty", "GET", "/%s", "", "http.StatusOK"},
		{"createsOne", "POST", "/%s", "sample", "http.StatusCreated"},
		{"refusesNonsense", "POST", "/%s", "`{`", "http.StatusBadRequest"},
		{"showsOne", "GET", "/%s/1", "", "http.StatusOK"},
		{"showsNothingForUnknownID", "GET", "/%s/99", "", "http.StatusNotFound"},
		{"refusesIDThatIsNoNumber", "GET", "/%s/abc", "", "http.StatusBadRequest"},
		{"updatesOne", "PUT", "/%s/1", "sample", "http.StatusOK"},
		{"removesOne", "DELETE", "/%s/1", "", "http.StatusNoContent"},
		{"removesNothingForUnknownID", "DELETE", "/%s/99", "", "http.StatusNotFound"},
	} {
		body := c.body
		switch body {
		case "":
			body = `""`
		case "sample":
			body = "sample" + k.name
		}
		fmt.Fprintf(&b, "\nfunc Test%s_%s(t *testing.T) {\n\tv := testServer(t)\n\tw := v.do(%q, %q, %s)\n\tif w.Code != %s {\n\t\tt.Fatalf(\"%s %s: got %%d, want %%d: %%s\", w.Code, %s, w.Body)\n\t}\n}\n",
			k.name, c.name, c.method, fmt.Sprintf(c.path, k.plural), body, c.want, c.method,
			fmt.Sprintf(c.path, k.plural), c.want)
	}
	return b.String()
}

func deliveries() string {
	var b strings.Builder
	b.WriteString("received,item,count,shelf,best_before\n")
	names := []string{"oat milk", "rye flour", "red lentils", "yoghurt 3.8", "basil", "tomato pulp", "butter", "eggs L",
		"apple juice", "feta"}
	for i := range 140 {
		date := fmt.Sprintf("2026-%02d-%02d", 3+i%4, 1+i%28)
		if i%37 == 5 {
			date = fmt.Sprintf("%d.%d.2026", 1+i%28, 3+i%4)
		}
		fmt.Fprintf(&b, "2026-02-%02d,%s,%d,%c%d,%s\n", 1+i%27, names[i%len(names)], 6+i*7%90, 'A'+rune(i%5), 1+i%9,
			date)
	}
	return b.String()
}

const readme = `# larder

larder keeps the stock of a canteen kitchen: items, shelves, batches, orders, and the labels that the scanners read.

## Run it

    go run ./cmd/larderd -addr :8417 -journal larder.journal

The scanners in the kitchen have port 8417 in their firmware.

## Endpoints

| path | what |
|---|---|
| GET /items, /shelves, /suppliers, /orders, /batches, /labels, /recipes, /scanners | lists |
| POST, PUT, DELETE below them | changes |
| GET /report/daily | the sheet that is printed every morning |
| GET /healthz | 204 while it runs |
`

const changelog = `# Changes

## 0.7.0

- Scanners report when they were last seen.
- Orders count their lines.

## 0.6.2

- A label can be printed again without a new code.
`

const mainGo = `// Command larderd serves larder.
package main

import (
	"flag"
	"log"
	"net/http"
	"time"

	"larder.example/larder/internal/remind"
	"larder.example/larder/internal/store"
	"larder.example/larder/internal/web"
)

func main() {
	addr := flag.String("addr", ":8417", "where to listen")
	journal := flag.String("journal", "larder.journal", "the file to keep")
	flag.Parse()

	s, err := store.Open(*journal)
	if err != nil {
		log.Fatalf("open journal: %v", err)
	}
	reminders := remind.New(time.Minute)
	reminders.Start()
	defer reminders.Stop()

	log.Printf("listening on %s", *addr)
	if err := http.ListenAndServe(*addr, web.New(s)); err != nil {
		log.Fatalf("serve: %v", err)
	}
}
`

const csvGo = `// Package imports reads the files that suppliers send.
package imports

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"larder.example/larder/internal/store"
)

// Delivery is one line of a delivery file.
type Delivery struct {
	Received   time.Time
	Item       string
	Count      int
	Shelf      string
	BestBefore time.Time
}

// Read reads a delivery file. It stops at the first line that is wrong.
func Read(r io.Reader) ([]Delivery, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = 5
	if _, err := in.Read(); err != nil {
		return nil, fmt.Errorf("header: %v", err)
	}
	var all []Delivery
	for {
		fields, err := in.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		d, err := parse(fields)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
}

func parse(fields []string) (Delivery, error) {
	var d Delivery
	var err error
	if d.Received, err = time.Parse(time.DateOnly, fields[0]); err != nil {
		return d, err
	}
	d.Item = fields[1]
	if d.Count, err = strconv.Atoi(fields[2]); err != nil {
		return d, err
	}
	d.Shelf = fields[3]
	if d.BestBefore, err = time.Parse(time.DateOnly, fields[4]); err != nil {
		return d, err
	}
	return d, nil
}

// Into adds deliveries to a store.
func Into(s *store.Store, all []Delivery) error {
	for _, d := range all {
		if _, err := s.AddBatch(store.Batch{Count: d.Count, Received: d.Received}); err != nil {
			return err
		}
	}
	return nil
}
`

const csvTestGo = `package imports

import (
	"os"
	"strings"
	"testing"
)

const header = "received,item,count,shelf,best_before\n"

func TestRead_takesOneLine(t *testing.T) {
	all, err := Read(strings.NewReader(header + "2026-02-01,feta,12,A1,2026-03-09\n"))
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v", all, err)
	}
}

func TestRead_refusesMissingHeader(t *testing.T) {
	if _, err := Read(strings.NewReader("")); err == nil {
		t.Fatal("an empty file was taken")
	}
}

func TestRead_sampleFile(t *testing.T) {
	f, err := os.Open("../../testdata/deliveries.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Read(f); err == nil {
		t.Fatal("the sample has wrong dates, but was taken")
	}
}
`

const dailyGo = `// Package report writes the sheets that are printed.
package report

import (
	"fmt"
	"io"
	"sort"

	"larder.example/larder/internal/store"
)

// Daily writes the morning sheet: what is short, and what stands where.
func Daily(w io.Writer, s *store.Store) error {
	counts := map[int64]int{}
	for _, b := range s.AllBatch() {
		counts[b.Item] += b.Count
	}
	items := s.AllItem()
	sort.Slice(items, func(i, j int) bool { return items[i].Name < items[j].Name })
	fmt.Fprintln(w, "To order")
	for _, item := range items {
		if have := counts[item.ID]; have < item.Minimum {
			fmt.Fprintf(w, "  %-24s %4d of %4d %s\n", item.Name, have, item.Minimum, item.Unit)
		}
	}
	fmt.Fprintln(w, "In stock")
	for _, item := range items {
		if have := counts[item.ID]; have > 0 {
			fmt.Fprintf(w, "  %-24s %4d %s\n", item.Name, have, item.Unit)
		}
	}
	return nil
}
`

const dailyTestGo = `package report

import (
	"strings"
	"testing"

	"larder.example/larder/internal/store"
)

func TestDaily_listsWhatIsShort(t *testing.T) {
	s := store.New()
	s.AddItem(store.Item{Name: "feta", Unit: "kg", Minimum: 4})
	var b strings.Builder
	if err := Daily(&b, s); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "feta") {
		t.Fatalf("no feta in\n%s", b.String())
	}
}

func TestDaily_emptyStore(t *testing.T) {
	var b strings.Builder
	if err := Daily(&b, store.New()); err != nil {
		t.Fatal(err)
	}
}
`

const schedulerGo = `// Package remind calls back when something is due.
package remind

import (
	"sort"
	"sync"
	"time"
)

// Reminder is something to be done at a time.
type Reminder struct {
	At   time.Time
	Do   func()
	Name string
}

// Scheduler runs reminders.
type Scheduler struct {
	every   time.Duration
	mu      sync.Mutex
	pending []Reminder
	fired   int
	stop    chan struct{}
}

// New returns a scheduler that looks for due reminders in this interval.
func New(every time.Duration) *Scheduler {
	return &Scheduler{every: every, stop: make(chan struct{})}
}

// Add plans a reminder.
func (s *Scheduler) Add(r Reminder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, r)
	sort.Slice(s.pending, func(i, j int) bool { return s.pending[i].At.Before(s.pending[j].At) })
}

// Start runs until Stop.
func (s *Scheduler) Start() {
	go func() {
		tick := time.NewTicker(s.every)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				s.run(now)
			case <-s.stop:
				return
			}
		}
	}()
}

// run fires what is due.
func (s *Scheduler) run(now time.Time) {
	due := s.due(now)
	for _, r := range due {
		r.Do()
		s.fired++
	}
}

func (s *Scheduler) due(now time.Time) []Reminder {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := sort.Search(len(s.pending), func(i int) bool { return s.pending[i].At.After(now) })
	due := s.pending[:n]
	s.pending = s.pending[n:]
	return due
}

// Fired is how many reminders ran.
func (s *Scheduler) Fired() int { return s.fired }

// Stop ends the scheduler.
func (s *Scheduler) Stop() { close(s.stop) }
`

const schedulerTestGo = `package remind

import (
	"testing"
	"time"
)

func TestScheduler_firesWhatIsDue(t *testing.T) {
	s := New(time.Millisecond)
	done := make(chan bool, 1)
	s.Add(Reminder{At: time.Now(), Do: func() { done <- true }})
	s.Start()
	defer s.Stop()
	<-done
}

func TestScheduler_keepsWhatIsNotDue(t *testing.T) {
	s := New(time.Millisecond)
	s.Add(Reminder{At: time.Now().Add(time.Hour), Do: func() { t.Error("too early") }})
	s.run(time.Now())
}

func TestScheduler_countsWhatFired(t *testing.T) {
	s := New(time.Millisecond)
	s.Start()
	defer s.Stop()
	for range 50 {
		s.Add(Reminder{At: time.Now(), Do: func() {}})
	}
	for s.Fired() < 50 {
		time.Sleep(time.Millisecond)
	}
}
`
