package fact_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/session"
)

// The audit is a second hand: it plants inventions and writes true claims by expressions of its
// own, and shares nothing with the package that it judges, nor with the first planter beside it.

// evidence is what the audit knows of one session.
type evidence struct {
	name     string
	folder   string // the working folder
	messages []session.Message
	pieces   []string // what was said, a text or a call with its result each
	said     string   // the pieces, joined
	hay      string   // everything of the file, metadata too: what does not stand in here stands nowhere
	lower    string
	squashed string // the hay's letters and digits alone, in lower case
	runs     map[string]bool
	figures  []float64 // each figure of the hay, sorted
	heights  map[int]bool

	paths, names, flags, variables, hashes, addresses, versions, commands []string

	matches map[string][][]string // of an expression that several kinds of claims go by
}

var (
	auditPath = regexp.MustCompile(`(?:^|[\s"'` + "`" +
		`(=])((?:/|\./|\.\./|~/)?(?:[A-Za-z0-9_@.-]+/)+[A-Za-z0-9_-]+\.[a-z]{1,5})(?:$|[\s"'` + "`" + `),;])`)
	auditName = regexp.MustCompile(`(?:^|[\s"'` + "`" +
		`(.,=])([a-z]+[a-z0-9]*(?:_[a-z0-9]+)+|[a-z]{2,}(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?:$|[\s"'` + "`" +
		`(),;:])`)
	auditFlag     = regexp.MustCompile(`\s(--[a-z]{2,}(?:-[a-z]+)*)(?:$|[\s=])`)
	auditVariable = regexp.MustCompile(`(?:^|[\s$"'{(])([A-Z]{2,}(?:_[A-Z0-9]{2,})+)(?:$|[\s="'})])`)
	auditHash     = regexp.MustCompile(`(?:^|[\s"'(])([0-9a-f]{7,40})(?:$|[\s"'),.])`)
	auditAddress  = regexp.MustCompile(`https?://[a-z0-9.-]+\.[a-z]{2,}(?:/[A-Za-z0-9_./-]*[A-Za-z0-9_/])?`)
	auditVersion  = regexp.MustCompile(`(?:^|[\s"'=@^~(v])(\d{1,2}\.\d{1,3}\.\d{1,3})(?:$|[\s"',;)])`)
)

// audited are the sessions that audit has read; nobody changes them.
var audited []*evidence

// audit reads every session that is at hand, once.
func audit(t testing.TB) []*evidence {
	t.Helper()
	paths := outside.Spoken(t)
	for _, path := range paths[len(audited):] {
		raw := outside.Read(t, path)
		doc, err := all.Read(raw)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		audited = append(audited, gather(t, filepath.Base(path), raw, &doc.Session))
	}
	return audited
}

// gather reads one session.
func gather(t testing.TB, name string, raw []byte, s *session.Session) *evidence {
	e := &evidence{name: name, folder: s.Info.Directory, messages: s.Messages, runs: map[string]bool{},
		heights: map[int]bool{}, matches: map[string][][]string{}}
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if piece := strings.Join(said(&p), "\n"); piece != "" {
				e.pieces = append(e.pieces, piece)
				e.heights[strings.Count(piece, "\n")] = true
			}
		}
	}
	e.said = strings.Join(e.pieces, "\n")
	canonical, err := jsonv2.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(canonical, &tree); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(raw)
	leaves(tree, &b)
	e.hay = b.String()
	e.lower = strings.ToLower(e.hay)
	e.squashed = squash(e.lower)
	for f := range figures(e.hay) {
		for _, run := range strings.FieldsFunc(f, func(r rune) bool { return r == ',' || r == '.' }) {
			e.runs[run] = true
		}
		for _, form := range []string{strings.ReplaceAll(f, ",", ""), strings.ReplaceAll(f, ".", ""),
			strings.ReplaceAll(f, ",", ".")} {
			e.runs[form] = true
			if v, err := strconv.ParseFloat(form, 64); err == nil && v != 0 {
				e.figures = append(e.figures, v)
			}
		}
	}
	slices.Sort(e.figures)
	e.figures = slices.Compact(e.figures)
	e.paths = distinct(auditPath, e.said)
	e.names = distinct(auditName, e.said)
	e.flags = distinct(auditFlag, e.said)
	e.variables = distinct(auditVariable, e.said)
	for _, h := range distinct(auditHash, e.said) {
		if strings.ContainsAny(h, "abcdef") && strings.ContainsAny(h, "0123456789") {
			e.hashes = append(e.hashes, h)
		}
	}
	e.addresses = auditAddress.FindAllString(e.said, -1)
	slices.Sort(e.addresses)
	e.addresses = slices.Compact(e.addresses)
	e.versions = distinct(auditVersion, e.said)
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			if st := s.Messages[i].Parts[j].State; st != nil {
				var input struct{ Command string }
				if json.Unmarshal(st.Input, &input) == nil && input.Command != "" {
					e.commands = append(e.commands, input.Command)
				}
			}
		}
	}
	return e
}

// said is what a part says: its text, or its call's input and result.
func said(p *session.Part) (texts []string) {
	if p.Text != "" {
		texts = append(texts, p.Text)
	}
	if p.State != nil {
		var tree any
		if json.Unmarshal(p.State.Input, &tree) == nil {
			var b strings.Builder
			leaves(tree, &b)
			texts = append(texts, b.String())
		}
		texts = append(texts, p.State.Output, p.State.Error)
	}
	return texts
}

// leaves writes every string and number of a JSON value, a line each.
func leaves(v any, b *strings.Builder) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case float64:
		fmt.Fprintf(b, "%v\n", v)
	case []any:
		for _, one := range v {
			leaves(one, b)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			leaves(v[name], b)
		}
	}
}

func squash(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text))
}

// figures are the runs of digits of a text, with the points and commas between digits.
func figures(text string) iter.Seq[string] {
	digit := func(at int) bool { return at < len(text) && '0' <= text[at] && text[at] <= '9' }
	return func(yield func(string) bool) {
		for at := 0; at < len(text); at++ {
			from := at
			for digit(at) || at > from && (text[at] == '.' || text[at] == ',') && digit(at+1) {
				at++
			}
			if at > from && !yield(text[from:at]) {
				return
			}
		}
	}
}

// distinct are the first groups of all matches, each once, sorted. An expression's borders may be
// shared by two matches, and no group goes over a line: each is looked at by itself, behind the
// newline before it, which package regexp does several times as fast.
func distinct(re *regexp.Regexp, text string) (found []string) {
	for line := range strings.Lines(text) {
		line = "\n" + line
		for {
			m := re.FindStringSubmatchIndex(line)
			if m == nil {
				break
			}
			found = append(found, line[m[2]:m[3]])
			line = line[m[3]:]
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// absent says that a text stands nowhere in the file, whatever the case of its letters and whatever
// separates them.
func (e *evidence) absent(text string) bool { return !strings.Contains(e.squashed, squash(text)) }

// near says that some figure of the session is this one, or becomes it by a change of unit and
// rounding to the digits that it has.
func (e *evidence) near(figure float64, decimals int) bool {
	half := 0.51 * math.Pow(10, -float64(decimals))
	for _, unit := range []float64{1, 10, 100, 1e3, 1e6, 1e9, 1024, 1 << 20, 1 << 30, 60, 3600, 0.1, 0.01, 1e-3, 1e-6,
		1.0 / 1024, 1.0 / 60} {
		low := (figure - half) * unit
		at, _ := slices.BinarySearch(e.figures, low)
		if at < len(e.figures) && e.figures[at] <= (figure+half)*unit {
			return true
		}
	}
	return false
}

// free is a figure between two bounds that the session has in no form.
func (e *evidence) free(r *rand.Rand, low, high int) (int, bool) {
	for range 400 {
		n := low + r.IntN(high-low)
		if !e.runs[strconv.Itoa(n)] && !e.near(float64(n), 0) && !e.heights[n] && !e.heights[n-1] && !e.heights[n+1] {
			return n, true
		}
	}
	return 0, false
}

func (e *evidence) source() *fact.Source {
	return sourceOf(e.folder, e.messages)
}

func sourceOf(folder string, log []session.Message) *fact.Source {
	s := fact.NewSource()
	s.AddFolder(folder)
	for i := range log {
		s.AddMessage(&log[i])
	}
	return s
}

// verdict of a group of claims: how many there were, and how many were taken for inventions.
type verdict struct{ all, struck int }

// verdicts are those of each kind of claim.
type verdicts map[string]*verdict

// add counts a claim of a kind.
func (v verdicts) add(kind string, struck bool) {
	one := v[kind]
	if one == nil {
		one = &verdict{}
		v[kind] = one
	}
	if one.all++; struck {
		one.struck++
	}
}

// weigh puts a claim into a text and says whether the check takes it for an invention.
func weigh(s *fact.Source, context, claim string) (struck bool, text string, claims []fact.Claim) {
	start := strings.Index(context, "§")
	text = strings.ReplaceAll(context, "§", claim)
	for _, c := range fact.Check(text, s) {
		claims = append(claims, c)
		struck = struck || c.Start < start+len(claim) && c.End > start
	}
	return struck, text, claims
}

func (v *verdict) missed() int {
	if v == nil {
		return 0
	}
	return v.all - v.struck
}

func (v verdicts) table(t *testing.T, title string) (sum verdict) {
	t.Helper()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(v)) {
		sum.all += v[kind].all
		sum.struck += v[kind].struck
		fmt.Fprintf(&b, "\n%-46s %5d of %5d struck", kind, v[kind].struck, v[kind].all)
	}
	t.Logf("%s: %d of %d struck%s", title, sum.struck, sum.all, b.String())
	return sum
}

// pick takes up to n of a list, in an order that the seed gives.
func pick(r *rand.Rand, list []string, n int) []string {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}
