package claudecode

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/internal/jsonl"
	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/plan/rule"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/text/span"
)

// index is what the writer needs to know about a file.
type index struct {
	entries  []entry
	tree     *tree
	active   []int  // positions of the entries of the branch, in the order of the log
	inBranch []bool // position of an entry → whether it is one of them
	leaf     int
	owner    []int             // position of an entry → position of its message in the log, -1
	places   map[string]place  // part id → where it stands
	messages []session.Message // the log as it was read
	// replaced holds the elisions that the product itself made, by the entry that records them.
	replaced map[int][]rule.Elision
	// parted holds what follows from the order of the file: results that the product does not find.
	parted []rule.Elision
}

// place is where a part is. A call has two places: its own, and that of its result.
type place struct {
	entry, block   int
	result, answer int // entry and block of the result, -1 while there is none
}

// Read understands a session file. See format.Format.
func (Format) Read(src []byte) (*format.Document, error) { return document(src, false) }

// ReadStretch reads lines that are all of one branch. See format.Outliner.
func (Format) ReadStretch(src []byte) (*format.Document, error) { return document(src, true) }

func document(src []byte, stretch bool) (*format.Document, error) {
	r := &reader{
		doc:   &format.Document{Format: Name, Source: src},
		index: &index{places: map[string]place{}, leaf: -1, replaced: map[int][]rule.Elision{}},
	}
	r.spent = newSpending(&format.Names{})
	r.spent.keep = true
	r.lines(src)
	if len(r.index.entries) == 0 {
		return nil, jsonl.Unreadable(Name, "a line that is a JSON object", r.doc.Damaged)
	}
	x := r.index
	x.tree = treeOf(x.entries, int64(len(src)))
	x.copies()
	if x.active, x.leaf = x.tree.branch(); stretch {
		x.active = x.tree.everything()
	}
	r.tallied = make([]bool, len(x.entries))
	x.inBranch = make([]bool, len(x.entries))
	for _, i := range x.active {
		x.inBranch[i] = true
	}
	x.owner = slices.Repeat([]int{-1}, len(x.entries))
	r.spend()
	r.log()
	r.info()
	r.count()
	if !stretch {
		r.mute()
	}
	r.ledger()
	r.doc.Native = x
	return r.doc, nil
}

// spend lists what requests took that are no part of the branch.
func (r *reader) spend() {
	x := r.index
	inLog := make(map[int32]bool, len(x.active))
	for i := range x.entries {
		if at := r.spent.note(&x.entries[i], x.tree.all[i].has(sideways)); at >= 0 && x.inBranch[i] {
			inLog[at] = true
		}
	}
	for at, request := range r.spent.all(func(at int32) bool { return inLog[at] }) {
		if request.Kind != bill.Step {
			request.ID = r.spent.ids[at]
			r.doc.Beside = append(r.doc.Beside, request)
		}
	}
}

type reader struct {
	doc     *format.Document
	index   *index
	spent   *spending
	tallied []bool // position of an entry → whether its calls and results were counted
}

// lines reads each line of the file.
func (r *reader) lines(src []byte) {
	x := r.index
	x.entries = make([]entry, 0, bytes.Count(src, []byte{'\n'})+1)
	for l := range span.Lines(src) {
		damage := func(reason string) {
			r.doc.Damaged = append(r.doc.Damaged, jsonl.Damage(l, reason))
		}
		if l.Text.Empty() {
			if bytes.IndexByte(l.Whole.Of(src), 0) >= 0 {
				damage("NUL bytes alone")
			}
		} else if e, err := parse(l.Text.Of(src)); err != nil {
			damage(span.Reason(err, "the line"))
		} else {
			e.line, e.whole, e.at = l.Number, l.Whole, l.Text
			e.unmark()
			x.entries = append(x.entries, e)
		}
	}
}

// log makes the messages of the branch.
func (r *reader) log() {
	b := &builder{
		reader: r, billed: map[string]int{}, calls: map[string][]int{}, groups: map[string]int{},
		ids: jsonl.IDs{}, parts: jsonl.IDs{}, whole: map[int]bool{},
	}
	for place := range r.index.active {
		b.add(place)
	}
	b.finish()
	r.doc.Session.Messages, r.index.messages = b.messages, slices.Clip(b.messages)
}

// info reads what the records around the conversation say about the session.
func (r *reader) info() {
	info := &r.doc.Session.Info
	titles := map[string]string{}
	for i := range r.index.entries {
		e := &r.index.entries[i]
		if e.chained() && e.Session != "" {
			info.ID = e.Session // a resumed session is written on under the newest id
		}
		if e.title != "" {
			titles[e.Kind] = e.title
		}
		if e.time != 0 && (info.Time.Created == 0 || e.time < info.Time.Created) {
			info.Time.Created = e.time
		}
		info.Time.Updated = max(info.Time.Updated, e.time)
		info.Directory = cmp.Or(info.Directory, e.Cwd)
		info.Version, info.Slug = cmp.Or(e.Version, info.Version), cmp.Or(e.Slug, info.Slug)
		info.ID = cmp.Or(info.ID, e.Session)
	}
	jsonl.Own(&r.doc.Session)
	messages := r.doc.Session.Messages
	info.Title = cmp.Or(titles["custom-title"], titles["ai-title"], titles["summary"])
	for i := range messages {
		m := &messages[i]
		for j := range m.Parts {
			if state := m.Parts[j].State; state != nil {
				for k := range state.Attachments {
					state.Attachments[k].SessionID = info.ID
				}
			}
		}
		if m.Role == session.Assistant && m.ProviderID != "" {
			info.Model = &session.ModelRef{ID: m.ModelID, ProviderID: m.ProviderID}
		}
	}
	info.Title = session.Called(*info, messages)
}

// count counts in the product's terms.
func (r *reader) count() {
	x, c := r.index, &r.doc.Counts
	c.Entries = len(x.entries)
	for i := range x.entries {
		e := &x.entries[i]
		if !e.speaks() {
			continue
		}
		c.Messages++
		if !x.inBranch[i] {
			c.Aside++
		}
		if !r.tallied[i] && bytes.Contains(e.content(), []byte(`"tool_`)) {
			r.tally(i, blocks(e.content()))
		}
	}
}

// mute lists the first message of a session in which none says anything that is understood. Another
// product may have taken the entries over, and an empty session would hide that.
func (r *reader) mute() {
	x := r.index
	said := func(m session.Message) bool { return len(m.Parts) > 0 }
	if slices.ContainsFunc(x.messages, said) {
		return
	}
	for i := range x.entries {
		if e := &x.entries[i]; e.speaks() && x.inBranch[i] {
			r.doc.Damaged = append(r.doc.Damaged, format.Damage{
				Line: e.line, Offset: int64(e.whole.Start), Bytes: e.whole.Len(),
				Reason: "nothing in this message, nor in any other, is understood",
			})
			return
		}
	}
}

// tally counts the calls and results of an entry.
func (r *reader) tally(i int, found []block) {
	r.tallied[i] = true
	for at := range found {
		switch found[at].Kind {
		case "tool_use":
			r.doc.Counts.ToolCalls++
		case "tool_result":
			r.doc.Counts.ToolResults++
		}
	}
}

// ledger gathers the elisions in the file, ours and the product's, by the time of their
// commit.
func (r *reader) ledger() {
	found := slices.Clone(r.index.parted)
	for _, i := range r.index.active {
		if m := r.index.entries[i].marks; m != nil {
			found = append(found, m.Elisions...)
		}
	}
	for i := range r.index.entries {
		if e := &r.index.entries[i]; e.Kind == "content-replacement" && len(e.of(e.Replacements)) > 0 {
			own := r.replaced(e)
			r.index.replaced[i] = own
			found = append(found, own...)
		}
	}
	slices.SortStableFunc(found, func(a, b rule.Elision) int { return cmp.Compare(a.Time, b.Time) })
	r.doc.Ledger = rule.NewLedger(found...)
}

// replaced reads what the product itself left out: results that it shows shorter, and the text that
// it shows.
func (r *reader) replaced(e *entry) []rule.Elision {
	var records []struct {
		Kind string `json:"kind"`
		Call string `json:"toolUseId"`
		Text string `json:"replacement"`
	}
	if json.Unmarshal(e.of(e.Replacements), &records, session.ReadOptions()) != nil {
		return nil
	}
	var found []rule.Elision
	for _, record := range records {
		p, known := r.index.places[record.Call]
		if record.Kind != "tool-result" || !known || p.result < 0 {
			continue
		}
		message := &r.index.messages[r.index.owner[p.entry]]
		at := slices.IndexFunc(message.Parts, func(p session.Part) bool { return p.ID == record.Call })
		if at < 0 || message.Parts[at].State == nil {
			continue
		}
		part := &message.Parts[at]
		field := rule.Output
		if part.State.Status == session.Failed {
			field = rule.Error
		}
		found = append(found, rule.Elision{
			Part: part.ID, Message: message.ID, Field: field, Rule: rule.Mark, Shown: record.Text,
			Because: "it was already replaced in the file that it was read from",
		})
	}
	return found
}
