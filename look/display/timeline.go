package display

import (
	"math"
	"slices"

	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

const (
	// MostRows is how many rows a timeline has: what one sees at a glance, and what leaves room on
	// a screen.
	MostRows = 20
	// mostShown of the rows are for what the model is shown, as long as the folded past needs the
	// others.
	mostShown = 14
	// newestAlone is how many of the newest turns have a row of their own when the older ones share
	// theirs.
	newestAlone = 4
	// largeShare of all tokens, and largeMessages, make a turn large enough to be split.
	largeShare    = 0.4
	largeMessages = 8
)

// Row is one line of a timeline: a turn, several turns, or a stretch of one.
type Row struct {
	FirstTurn, LastTurn int
	FirstStep, LastStep int // of a stretch, within the turn, 1-based; 0 if it has no step
	GoesOn              bool
	Zones               map[report.Zone]int // tokens
	Tokens              int
	Cost                float64 // US dollars, of the requests that it answers; 0 where nothing is known
	Written             string  // what the user wrote first
}

// Timeline is a session from its oldest message to its newest.
type Timeline struct {
	Folded []Row // what the summary replaced
	Past   bool  // there is a pivot
	Pivot  Row   // the summary, and what it carries over
	Shown  []Row
	Whole  Row
}

// TimelineOf lays out strata on at most MostRows rows besides the pivot.
func TimelineOf(strata []report.Stratum) Timeline {
	t := Timeline{Whole: rowOf(strata), Past: slices.ContainsFunc(strata,
		func(s report.Stratum) bool { return s.Pivot })}
	var folded, summary, shown, empty []report.Stratum
	for i, s := range strata {
		switch {
		case t.Past && (s.Pivot || s.Zones[report.Summary] > 0):
			summary = append(summary, s)
		case rowOf(strata[i:i+1]).Tokens == 0: // it belongs to what follows it
			empty = append(empty, s)
		case t.Past && s.Zones[report.Folded] > 0:
			folded, empty = append(append(folded, empty...), s), nil
		default:
			shown, empty = append(append(shown, empty...), s), nil
		}
	}
	shown = append(shown, empty...)
	t.Pivot = rowOf(summary)
	t.Pivot.FirstTurn, t.Pivot.LastTurn = 0, 0
	t.Folded = rowsOf(folded, MostRows-min(len(byTurn(shown)), mostShown), 0, t.Whole.Tokens)
	t.Shown = rowsOf(shown, MostRows-len(t.Folded), newestAlone, t.Whole.Tokens)
	if n := len(t.Folded); n > 0 && len(t.Shown) > 0 {
		first := &t.Shown[0]
		first.GoesOn = first.FirstTurn > 0 && first.FirstTurn == t.Folded[n-1].LastTurn
	}
	return t
}

// rowOf is one row of strata that follow each other.
func rowOf(strata []report.Stratum) Row {
	r := Row{Zones: map[report.Zone]int{}}
	for i, s := range strata {
		if i == 0 {
			r.FirstTurn = s.Turn
		}
		if r.LastTurn = s.Turn; r.Written == "" {
			r.Written = s.Written
		}
		r.Cost += s.Cost
		for zone, n := range s.Zones {
			r.Zones[zone] += max(0, n)
			r.Tokens += max(0, n)
		}
	}
	return r
}

// byTurn groups strata that follow each other and belong to one turn.
func byTurn(strata []report.Stratum) [][]report.Stratum {
	var turns [][]report.Stratum
	from := 0
	for i := range strata {
		if i+1 == len(strata) || strata[i+1].Turn != strata[i].Turn {
			turns, from = append(turns, strata[from:i+1]), i+1
		}
	}
	return turns
}

// rowsOf makes at most that many rows of strata. Many turns share rows, except the newest; of a
// few, the large ones are split.
func rowsOf(strata []report.Stratum, most, alone, whole int) []Row {
	var rows []Row
	turns := byTurn(strata)
	if len(turns) > most {
		alone = min(alone, most/2)
		older, n := turns[:len(turns)-alone], most-alone
		for i := range n {
			if from, to := i*len(older)/n, (i+1)*len(older)/n; from < to {
				rows = append(rows, rowOf(slices.Concat(older[from:to]...)))
			}
		}
		for _, t := range turns[len(turns)-alone:] {
			rows = append(rows, rowOf(t))
		}
		return rows
	}
	for _, t := range turns {
		row := rowOf(t)
		part := float64(row.Tokens) / float64(max(whole, 1))
		pieces := min(1+int(math.Round(part*float64(most-len(turns))*0.6)), len(t)/2)
		if part < largeShare || len(t) < largeMessages || pieces < 2 {
			rows = append(rows, row)
		} else {
			rows = append(rows, split(t, pieces)...)
		}
	}
	return rows
}

// split makes rows of stretches of one turn, of the same number of messages each.
func split(turn []report.Stratum, pieces int) []Row {
	var rows []Row
	step := 0
	for i := range pieces {
		stretch := turn[i*len(turn)/pieces : (i+1)*len(turn)/pieces]
		row := rowOf(stretch)
		row.GoesOn = i > 0
		for _, s := range stretch {
			if s.Role == session.Assistant {
				step++
				row.LastStep = step
				if row.FirstStep == 0 {
					row.FirstStep = step
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}
