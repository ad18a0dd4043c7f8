package pivot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/plan/pivot/fact"
	"github.com/winnowhq/winnow/plan/recall"
	"github.com/winnowhq/winnow/session"
)

// Limits of a digest: enough for the facts of a long summary, and small beside the messages that
// precede it.
const (
	digestClaims = 160 // claims of the earlier summary that are looked up
	digestQuotes = 40  // quotations
	digestQuote  = 140 // bytes of each
	// DigestSize is how many bytes a digest has at most.
	DigestSize = 8000
)

// Digest tells a model that is to write the next summary what the log says about each fact of the
// previous one: superseded and by what, found nowhere, or confirmed, with a quotation of where it
// was said last. It is made from the log alone and takes at most size bytes. It returns "" if there
// is nothing to say.
func Digest(previous string, past Past, size int) string {
	if previous == "" || len(past.Log) == 0 || size <= len(digestTitle) {
		return ""
	}
	d := digest{log: past.Log, calls: call.Calls(past.Log), directory: call.Directory(past.Log),
		mentioned: map[string]bool{}}
	d.superseded(previous)
	d.revoked(previous)
	d.files(previous)
	d.commands(previous)
	d.claims(previous, past.Lost)
	return d.text(size)
}

const digestTitle = "\n\nThe whole session, which is longer than the messages above, was searched for the facts of " +
	"the earlier notes. This is what it says:\n"

type digest struct {
	log       []session.Message
	calls     []call.Call
	directory string

	gone, confirmed, plain, not []string        // lines
	mentioned                   map[string]bool // claims that a line speaks of already
}

// superseded collects the values for which the log has newer ones.
func (d *digest) superseded(previous string) {
	values := recall.Values(d.log)
	for i := range values {
		v := &values[i]
		notes := recall.Superseded(previous, values[i:i+1])
		switch {
		case len(notes) > 0 || len(v.Was) > 0 && d.stale(previous, v):
			name := v.Name
			if name != "" {
				name += ": "
			}
			d.gone = append(d.gone, fmt.Sprintf("%s%s is now %s: %s", name, strings.Join(v.Was, ", "), v.Now,
				quotation(v.Text, digestQuote)))
			for _, was := range append(v.Was, v.Now) {
				d.mentioned[was] = true
			}
		case v.Name != "" && strings.Contains(previous, v.Now) && len(d.confirmed) < digestQuotes &&
			!d.mentioned[v.Now]:
			d.confirmed = append(d.confirmed, fmt.Sprintf("%s %s: %s", v.Name, v.Now, quotation(v.Text, digestQuote)))
			d.mentioned[v.Now] = true
		}
	}
}

// revoked collects the instructions that the user took back.
func (d *digest) revoked(previous string) {
	for _, note := range recall.Revoked(previous, recall.Constraints(d.log)) {
		d.gone = append(d.gone, "an instruction was taken back: "+note)
	}
}

// stale reports whether a line of a summary has an older value without the newest.
func (d *digest) stale(previous string, v *recall.Value) bool {
	one := []recall.Value{*v}
	for line := range strings.Lines(previous) {
		if len(recall.Superseded(line, one)) > 0 {
			return true
		}
	}
	return false
}

// files collects the files named in the summary that were deleted since.
func (d *digest) files(previous string) {
	for _, f := range recall.Files(d.calls) {
		name := call.Shorten(f.Path, d.directory)
		if len(name) < 4 || !strings.Contains(previous, name) {
			continue
		}
		if f.Gone() {
			d.gone = append(d.gone, "`"+name+"` was deleted")
			d.mentioned[name] = true
		}
	}
}

// commands collects the commands named in the summary, with how they last ended.
func (d *digest) commands(previous string) {
	for n := len(d.calls) - 1; n >= 0; n-- {
		c := &d.calls[n]
		text := strings.TrimSpace(c.Command())
		if len(text) < 4 || len(text) > 200 || d.mentioned[text] || !c.Outcome.Known ||
			!strings.Contains(previous, text) {
			continue
		}
		d.mentioned[text] = true
		how := "worked"
		if c.Outcome.Failed {
			how = "failed"
		}
		if len(d.confirmed) < digestQuotes {
			d.confirmed = append(d.confirmed, "`"+text+"` ran, and "+how+" the last time")
		}
	}
}

// claims looks up all other facts.
func (d *digest) claims(previous, lost string) {
	source := fact.NewSource()
	if d.directory != "" {
		source.AddFolder(d.directory)
	}
	for i := range d.log {
		source.AddMessage(&d.log[i])
	}
	if lost != "" {
		source.AddText(lost)
	}
	invented := map[string]bool{}
	for _, c := range fact.Check(previous, source) {
		invented[c.Text] = true
	}
	looked := 0
	for _, c := range fact.Claims(previous) {
		if d.mentioned[c.Text] || looked == digestClaims {
			continue
		}
		d.mentioned[c.Text] = true
		looked++
		switch {
		case invented[c.Text]:
			d.not = append(d.not, "`"+c.Text+"`")
		case len(d.confirmed) < digestQuotes:
			if q := d.lastQuoted(c.Text); q != "" {
				d.confirmed = append(d.confirmed, "`"+c.Text+"`: "+q)
				continue
			}
			fallthrough
		default:
			d.plain = append(d.plain, "`"+c.Text+"`")
		}
	}
}

// lastQuoted quotes where somebody last said a text in words, "" if it occurs in calls alone.
func (d *digest) lastQuoted(text string) string {
	for i := range slices.Backward(d.log) {
		m := &d.log[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Type != session.TextPart || p.Synthetic || !strings.Contains(p.Text, text) {
				continue
			}
			for _, s := range recall.Sentences(recall.Prose(p.Text)) {
				if strings.Contains(s, text) {
					return quotation(s, digestQuote)
				}
			}
		}
	}
	return ""
}

func (d *digest) text(size int) string {
	var b strings.Builder
	b.WriteString(digestTitle)
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"Superseded. Write the newer one, and the older at most as what it was before:", d.gone},
		{"Found nowhere in the log. Leave it out unless the messages above bear it out:", d.not},
		{"Confirmed. Keep it unless the messages above change it:", d.confirmed},
		{"Also in the log:", d.plain},
	} {
		for i, l := range part.lines {
			if b.Len()+len(part.title)+len(l)+4 > size {
				break
			}
			if i == 0 {
				b.WriteString("\n" + part.title + "\n")
			}
			b.WriteString("- " + l + "\n")
		}
	}
	if b.Len() == len(digestTitle) {
		return ""
	}
	return strings.TrimRight(b.String(), "\n")
}

// quotation puts a sentence between quotation marks, cut to size bytes.
func quotation(text string, size int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > size {
		text = call.Beginning(text, size) + " …"
	}
	return `"` + text + `"`
}
