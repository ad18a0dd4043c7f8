package view

import (
	"slices"

	"github.com/winnowhq/winnow/session"
)

// Markers says which markers of steps (step-start, step-finish) are shown. They say nothing to a
// model, but where one message holds several steps they tell one from the next.
type Markers int

const (
	// AllMarkers are shown as the log has them.
	AllMarkers Markers = iota
	// SeparatingMarkers leaves one between two steps of a message, the first step-start where there
	// is one, and no other: a provider is sent the same bytes.
	SeparatingMarkers
	// NoMarkers leaves none (S002 2). Steps of one message become one.
	NoMarkers
)

// Of returns rendered messages with these markers. Messages that lose none share their parts with
// what was handed in; a message of which nothing is left is left out. Each message depends on
// itself alone.
func (m Markers) Of(rendered []session.Message) []session.Message {
	if m == AllMarkers || !slices.ContainsFunc(rendered,
		func(r session.Message) bool { return slices.ContainsFunc(r.Parts, isMarker) }) {
		return rendered
	}
	shown := make([]session.Message, 0, len(rendered))
	for _, r := range rendered {
		if slices.ContainsFunc(r.Parts, isMarker) {
			if r.Parts = m.parts(r.Parts); len(r.Parts) == 0 {
				continue
			}
		}
		shown = append(shown, r)
	}
	return shown
}

// parts of one message.
func (m Markers) parts(all []session.Part) []session.Part {
	shown := make([]session.Part, 0, len(all))
	begun := false            // something that a model is sent was shown
	var between *session.Part // the marker that will separate it from what comes
	for j := range all {
		p := &all[j]
		if isMarker(*p) {
			if between == nil || between.Type != session.StepStartPart {
				between = p
			}
			continue
		}
		if p.Type != session.SnapshotPart && p.Type != session.PatchPart && p.Type != session.RetryPart {
			if between != nil && begun && m == SeparatingMarkers {
				shown = append(shown, *between)
			}
			begun, between = true, nil
		}
		shown = append(shown, *p)
	}
	return shown
}

func isMarker(p session.Part) bool {
	return p.Type == session.StepStartPart || p.Type == session.StepFinishPart
}
