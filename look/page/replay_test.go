package page

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/winnowhq/winnow/internal/outside"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/plan/policy"
)

// outcome is a session under a policy that carries a given number of tokens more with each step, and folds
// when they are too many.
func outcome(session, policy string, steps, grows, most int) lab.Outcome {
	o := lab.Outcome{Session: session, Policy: policy, Steps: steps}
	size := 18_000
	for k := range steps {
		size += grows * (1 + k%3)
		if size > most {
			o.Events = append(o.Events, lab.Event{Step: k, Kind: lab.Folded, Tokens: size - 20_000,
				Rewritten: 2_000, Cost: 0.02})
			o.Folds++
			size = 20_000
		}
		switch {
		case k%50 == 20:
			o.Events = append(o.Events, lab.Event{Step: k, Kind: lab.Idle})
		case o.Folds > 0 && k%40 == 31:
			o.Events = append(o.Events, lab.Event{Step: k, Kind: lab.Regretted, N: 1, Tokens: 900, Cost: 0.01,
				Parts: []string{"prt_" + strconv.Itoa(k-9)}})
			o.Regrets++
			o.Bill.Regret += 0.01
		case policy != "nothing" && k%23 == 11:
			o.Events = append(o.Events, lab.Event{Step: k, Kind: lab.Committed, N: 5, Tokens: 4_000,
				Rewritten: 9_000, Parts: []string{"prt_1", "prt_2", "prt_3", "prt_4", "prt_5"}})
			o.Commits++
		}
		o.Bill.Read += float64(size) / 1e7
		o.Bill.Write += float64(grows) * 1.25e-6
		o.Bill.Output += 0.0005
		o.Curve, o.Sizes = append(o.Curve, o.Bill.Total()), append(o.Sizes, size)
	}
	return o
}

// replayed is a report over some sessions under some policies; the last two are a sweep.
func replayed(sessions, policies, steps int) lab.Report {
	r := lab.Report{Baseline: "nothing", Relative: true,
		Prices: "cache read 0.1, write 1.25, output 5 times the input price"}
	for j := range policies {
		s := lab.Standing{Name: "nothing"}
		switch {
		case j == 1:
			s.Name = "balanced"
		case j >= policies-2 && policies > 3:
			s.Name, s.Group = fmt.Sprintf("balanced, threshold=%dk", 40+20*j), "balanced, threshold"
		case j > 1:
			s.Name = "rule " + strconv.Itoa(j)
		}
		r.Policies = append(r.Policies, s)
	}
	for i := range sessions {
		one := lab.Recorded{
			ID: "ses_" + strconv.Itoa(i+1), Name: fmt.Sprintf("watch-%d.jsonl", i+1), Product: "Claude Code",
			Model: "anthropic/claude-sonnet-4-5", Steps: steps, Tokens: steps * 900, Base: 18_000, Bound: 0.3,
		}
		for j := range r.Policies {
			o := outcome(one.ID, r.Policies[j].Name, steps, 400+10*i, []int{1e9, 60_000, 45_000,
				40_000}[min(j, 3)]+1_000*j)
			p := &r.Policies[j]
			p.Bill, p.Steps, p.Regrets, p.Commits, p.Folds = p.Bill.Add(o.Bill), p.Steps+steps, p.Regrets+o.Regrets,
				p.Commits+o.Commits, p.Folds+o.Folds
			one.Outcomes = append(one.Outcomes, o)
		}
		r.Sessions = append(r.Sessions, one)
	}
	for j := range r.Policies {
		p := &r.Policies[j]
		p.Ratio = p.Bill.Total() / r.Policies[0].Bill.Total()
		p.Mean, p.MissedStepsPer100, p.Hits, p.Bound = p.Ratio, 100*float64(p.Regrets)/float64(max(1, p.Steps)), 0.97, p.Ratio/0.4
	}
	first := r.Sessions[0]
	r.Gains = []lab.Change{{Session: first.ID, Name: first.Name, Before: first.Outcomes[0].Bill.Total(),
		After: first.Outcomes[1].Bill.Total(), Why: "3 folds kept its prompts below 120000 tokens"}}
	r.Losses = []lab.Change{{Session: "ses_gone", Name: "gone.jsonl", Before: 1, After: 1.01}}
	r.Advice = &lab.Advice{Policy: "balanced", Reason: "on your sessions it costs half of what nothing costs.",
		Settings: map[string]string{"compaction.threshold": "120000"}}
	r.Skipped = []lab.Skipped{{Path: "/home/keeper/empty.jsonl", Why: "no step in it"}}
	r.Sources, r.By, r.Bearable = sessions, lab.BySources, 2.5
	for j := range r.Policies {
		p := &r.Policies[j]
		p.Within = lab.Range{Low: 0.95 * p.Ratio, High: 1.02 * p.Ratio}
		p.P10, p.P50, p.P90, p.Lambda = 0.9*p.Ratio, p.Ratio, 1.1*p.Ratio, lab.Lambda{Some: 1.01 * p.Ratio, Much: 1.05 * p.Ratio}
	}
	left := r.Policies[1]
	left.Name, left.Ratio, left.Within, left.MissedWithin = "left out: chosen ≤ 2.5", 0.9,
		lab.Range{Low: 0.88, High: 0.93}, lab.Range{Low: 0.5, High: 2}
	r.Holdout = []lab.Choice{{Bearable: 2.5, Standing: left, Ratio: 0.9, Within: lab.Range{Low: 0.88, High: 0.93}, ToAlone: 0.97,
		InSample: lab.Fold{Chosen: "balanced", Ratio: 0.89}, Folds: []lab.Fold{{HeldOut: "/home/keeper/light", Sessions: 1, Steps: steps, Chosen: "balanced", Ratio: 0.9}}}}
	r.Products = []lab.ProductAdvice{{Product: "codex", Gateway: "winnow wrap codex", Why: "none misses few steps enough"}}
	return r
}

func replayPage(t testing.TB, r lab.Report, details ReplayDetails) string {
	t.Helper()
	var b bytes.Buffer
	if err := Replay(&b, r, details); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func replayFile(t testing.TB, html string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replay.html")
	if err := os.WriteFile(path, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplay_ofAFewSessions(t *testing.T) {
	r := replayed(2, 4, 60)
	details := ReplayDetails{Name: "~/watches", Part: func(session, part string) string {
		if part == "prt_1" {
			return "read log/" + session + ".txt"
		}
		return ""
	}}
	html := replayPage(t, r, details)
	golden(t, "replay.html", html)
	if again := replayPage(t, r, details); again != html {
		t.Error("the same report gave other bytes")
	}
	if !Is([]byte(html)) {
		t.Error("the page is not known as one that winnow wrote")
	}
	if ids := doubled(html); len(ids) > 0 {
		t.Errorf("ids stand twice: %v", ids)
	}
	if broken := dangling(html); len(broken) > 0 {
		t.Errorf("links lead nowhere: %v", broken)
	}
	if texts := unpacked(t, html); len(texts) != 2 || !strings.Contains(html, texts[0]) {
		t.Errorf("%d courses are kept, want one a session, the first of which stands in the page as well", len(texts))
	}
}

func TestReplay_withoutDetailHasNoCourses(t *testing.T) {
	r := replayed(2, 3, 10)
	for i := range r.Sessions {
		for j := range r.Sessions[i].Outcomes {
			o := &r.Sessions[i].Outcomes[j]
			o.Curve, o.Sizes, o.Events = nil, nil, nil
		}
	}
	html := replayPage(t, r, ReplayDetails{})
	if strings.Contains(html, `id="course"`) || !strings.Contains(html, `id="frontier"`) ||
		!strings.Contains(html, `id="policies"`) {
		t.Error("want the frontier and the table, and no course")
	}
}

func TestReplay_withoutAdviceSaysWhyAndStillTellsWhoGains(t *testing.T) {
	r := replayed(2, 3, 10)
	r.Advice, r.Unadvised, r.Subject = nil, "2 sessions are too little; it takes 10000 steps", "rule 2"
	html := replayPage(t, r, ReplayDetails{})
	for _, want := range []string{"No recommendation: 2 sessions are too little; it takes 10,000 steps.",
		`under rule 2`, `<th scope="col" class="n">rule 2</th>`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(html, `class="advised"`) || strings.Contains(html, `class="ring"`) {
		t.Error("a policy is marked as recommended")
	}
}

func TestReplay_ofNothing(t *testing.T) {
	html := replayPage(t, lab.Report{}, ReplayDetails{})
	if !strings.Contains(html, "there is too little to go by") || strings.Contains(html, "NaN") {
		t.Errorf("the page of nothing: %.2000s", html[strings.Index(html, "<header>"):])
	}
}

// hostileReplay has texts that would act if they were not escaped, and figures that no replay
// gives.
func hostileReplay() lab.Report {
	r := replayed(2, 4, 30)
	r.Baseline, r.Prices = evil, evil
	r.Policies[0].Name, r.Policies[3].Group = evil, evil
	r.Policies[2].Ratio, r.Policies[2].MissedStepsPer100, r.Policies[2].Worst = math.NaN(), math.Inf(1), math.NaN()
	r.Sessions[0].Name, r.Sessions[0].Model, r.Sessions[1].Product = evil, evil, evil
	r.Sessions[0].Outcomes[1].Curve[4], r.Sessions[0].Outcomes[1].Curve[5] = math.NaN(), math.Inf(1)
	r.Sessions[0].Outcomes[1].Sizes[4] = -5
	r.Sessions[0].Outcomes[1].Events = []lab.Event{{Step: -3, Kind: lab.EventKind(evil), N: -1, Tokens: -4,
		Parts: []string{evil}}, {Step: 1 << 40, Kind: lab.Regretted, Cost: math.NaN()}}
	r.Sessions[1].Outcomes = r.Sessions[1].Outcomes[:1]
	r.Gains[0].Name, r.Gains[0].Why, r.Gains[0].Before = evil, evil, 0
	r.Advice = &lab.Advice{Policy: evil, Reason: evil, Settings: map[string]string{evil: evil}}
	r.Skipped = []lab.Skipped{{Path: evil, Why: evil}}
	r.Holdout = []lab.Choice{{Of: evil, Ratio: math.NaN(), Within: lab.Range{Low: 1, High: math.Inf(1)}, ToAlone: 1,
		InSample: lab.Fold{Chosen: evil}, Folds: []lab.Fold{{HeldOut: evil, Chosen: evil, Steps: -1, Ratio: math.Inf(-1)}}}}
	r.Products = []lab.ProductAdvice{{Product: evil, Policy: evil, File: evil, Key: evil, Value: evil, Why: evil}}
	r.InSample, r.Unheld = []string{evil}, evil
	return r
}

func TestReplay_hostileTextStaysText(t *testing.T) {
	html := replayPage(t, hostileReplay(), ReplayDetails{Name: evil, Part: func(string, string) string { return evil }})
	body := strings.NewReplacer(style, "", replayStyle, "", scriptOfKept, "", replayScript, "").Replace(html)
	for _, text := range append(unpacked(t, html), body) {
		for what, bad := range map[string]string{"a script": "<script>window.pwned", "an image": "<img", "NaN": "NaN",
			"an override": "\u202e", "an escape sequence": "\x1b"} {
			if strings.Contains(text, bad) {
				t.Errorf("the page has %s", what)
			}
		}
		if found := aStyle.FindString(text); found != "" {
			t.Errorf("a tag has a style or a handler: %.200s", found)
		}
	}
	if got, want := strings.Count(strings.ToLower(body), "<script"),
		1+len(keptTexts.FindAllString(body, -1)); got != want {
		t.Errorf("there are %d scripts, want %d", got, want)
	}
}

func TestThinned_keepsTheFirstTheLastAndThePeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 900).Draw(t, "values")
		most := rapid.IntRange(20, 200).Draw(t, "most")
		got := thinned(values, most)
		if len(got) > most || got[0] != 0 || got[len(got)-1] != len(values)-1 {
			t.Fatalf("%d of %d points, from %d to %d", len(got), len(values), got[0], got[len(got)-1])
		}
		peak, drawn := 0.0, 0.0
		for _, v := range values {
			peak = max(peak, v)
		}
		for i, k := range got {
			drawn = max(drawn, values[k])
			if i > 0 && k <= got[i-1] {
				t.Fatalf("point %d follows point %d", k, got[i-1])
			}
		}
		if drawn != peak {
			t.Fatalf("the highest point drawn is %v, the peak %v", drawn, peak)
		}
	})
}

func TestSpread_keepsLettersApartAndInThePicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := make([]end, rapid.IntRange(1, 15).Draw(t, "lines"))
		for i := range ends {
			ends[i] = end{Y: rapid.Float64Range(0, costHeight).Draw(t, "y")}
		}
		spread(ends, costHeight)
		for i := range ends {
			if ends[i].Y < 0 || ends[i].Y > costHeight+4.1 {
				t.Fatalf("a letter stands at %v", ends[i].Y)
			}
			for k := range i {
				if d := math.Abs(ends[i].Y - ends[k].Y); d < leastApart-0.2 {
					t.Fatalf("two letters are %v pixels apart", d)
				}
			}
		}
	})
}

func TestFrontier_labelsDoNotCollideAndStayInTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := lab.Report{Baseline: "p 0"}
		for i := range rapid.IntRange(1, 30).Draw(t, "policies") {
			r.Policies = append(r.Policies, lab.Standing{
				Name:      fmt.Sprintf("p %d", i),
				Group:     rapid.SampledFrom([]string{"", "", "p"}).Draw(t, "group"),
				Ratios:    lab.Ratios{Ratio: rapid.Float64Range(0.1, 2).Draw(t, "ratio")},
				MissRates: lab.MissRates{MissedStepsPer100: rapid.Float64Range(0, 15).Draw(t, "rate")},
			})
		}
		d := newReplayDocument(&r, ReplayDetails{})
		for _, f := range d.Frontiers {
			var boxes []box
			for _, s := range f.Spots {
				if s.Label == nil {
					continue
				}
				wide := letterWide * float64(len(s.Label.Text))
				left := s.Label.X - map[string]float64{"start": 0, "middle": wide / 2, "end": wide}[s.Label.Anchor]
				here := box{left, s.Label.Y - letterHigh + 3, left + wide, s.Label.Y + 3}
				for _, other := range boxes {
					if here.meets(other) {
						t.Fatalf("%q stands on another", s.Label.Text)
					}
				}
				if here.left < 0 || here.right > float64(f.Width) || here.top < 0 || here.bottom > float64(f.Height) {
					t.Fatalf("%q is out of the picture", s.Label.Text)
				}
				boxes = append(boxes, here)
			}
			if s := f.Spots[0]; s.Label == nil && len(f.Spots) == 1 {
				t.Fatal("the only policy has no name")
			}
		}
	})
}

func TestReplay_ofManySessionsStaysSmall(t *testing.T) {
	r := replayed(200, 8, 300)
	from := time.Now()
	html := replayPage(t, r, ReplayDetails{})
	t.Logf("%d KB in %d ms", len(html)>>10, time.Since(from).Milliseconds())
	if len(html) > 5_000_000 {
		t.Errorf("200 sessions under 8 policies make a page of %d bytes, want at most 5,000,000", len(html))
	}
}

// Where something was chosen with sessions left out, the picture and the tables show that, and none
// of what it was chosen from: a point that is the best of the sessions that it stands on flatters.
func TestFrontier_hasNoPointOfASweepThatWasChosenFrom(t *testing.T) {
	r := replayed(3, 6, 60)
	group := r.Policies[4].Group
	left := r.Policies[5]
	left.Name, left.Group, left.Ratio, left.MissedStepsPer100 = "left out: threshold ≤ 2.5", "", 0.77, 1.23
	left.Within, left.MissedWithin = lab.Range{Low: 0.7, High: 0.8}, lab.Range{Low: 1, High: 2}
	r.Holdout = []lab.Choice{{Of: group, Bearable: 2.5, Standing: left, Ratio: 0.77, MissedStepsPer100: 1.23,
		InSample: lab.Fold{Chosen: r.Policies[4].Name}}}
	r.Advice.Policy = r.Policies[4].Name
	html := replayPage(t, r, ReplayDetails{})
	d := newReplayDocument(&r, ReplayDetails{})
	for _, f := range d.Frontiers {
		found := 0
		for _, s := range f.Spots {
			switch {
			case s.At < len(r.Policies) && r.Policies[s.At].Group == group:
				t.Errorf("%s, which something was chosen from, is at %v", s.Name, s.Ratio)
			case s.Name == left.Name && s.Ratio == 0.77 && s.Rate == 1.23 && s.Within != "" && s.Advised:
				found++
			}
		}
		if found != 1 || len(f.Spots) != 5 || len(f.Sweeps) != 0 {
			t.Errorf("%d points and %d lines of sweeps, of them %d of what was left out with its intervals and the ring; want 5, 0 and 1",
				len(f.Spots), len(f.Sweeps), found)
		}
	}
	if rows := strings.Count(html, `<tr class="advised">`); rows != 2 || strings.Contains(html, `<th scope="row">`+r.Policies[4].Name) {
		t.Errorf("%d rows are what is recommended, want one in each table, and none of the sweep", rows)
	}
	if want := "“Left out” is chosen on all sources but those that it is judged on"; !strings.Contains(html, want) {
		t.Errorf("the page does not say %q", want)
	}
	r.Holdout, r.InSample = nil, []string{r.Policies[4].Name}
	if html := replayPage(t, r, ReplayDetails{}); !strings.Contains(html, "The best point of a sweep is the best of these very sessions") {
		t.Error("points of a sweep are not said to be figures of the sessions themselves")
	}
}

// The picture in the documentation is made from left-out points alone: its command holds out, and
// names no policy that has something chosen on those sessions outside of a sweep.
func TestFrontier_ofTheDocumentationIsLeftOut(t *testing.T) {
	command := frontierCommand(t)
	words := strings.Fields(command)
	if !slices.Contains(words, "--holdout") || !slices.Contains(words, "--sweep") {
		t.Errorf("the command of the picture holds nothing out: %s", command)
	}
	for i, word := range words {
		if word != "--policy" {
			continue
		}
		for _, name := range strings.Split(words[i+1], ",") {
			base, _, _ := strings.Cut(name, "/")
			if s, err := lab.Named(name, policy.Defaults(), nil); err != nil || base == policy.Balanced || s.Policy.Budget.Economic(model.Model{}) {
				t.Errorf("%s is in the picture as it is, with what was chosen on these sessions (%v)", name, err)
			}
		}
	}
	doc := string(outside.Read(t, filepath.Join(outside.Root(t), "docs", "economics.md")))
	_, measured, _ := strings.Cut(doc, "## Measured")
	measured, _, _ = strings.Cut(measured, "### As it was judged until now")
	for _, line := range strings.Split(measured, "\n") {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "in-sample") {
			t.Errorf("a table of what was measured has a row in-sample: %s", line)
		}
	}
}
