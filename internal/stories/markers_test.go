package stories

import (
	"testing"

	"github.com/winnowhq/winnow"
	"github.com/winnowhq/winnow/plan/settings"
	"github.com/winnowhq/winnow/session"
)

// The markers of steps never reach the model, or only where they tell two steps apart, as the
// policy says (S002 2).
func TestView_stepMarkersByPolicy(t *testing.T) {
	off := withPolicy("balanced")
	off.Strategies.BalancedPruning.Markers = false
	for _, c := range []struct {
		name     string
		settings *settings.Settings
		want     int // markers of the four
	}{{"classic", withPolicy("classic"), 4}, {"aggressive", withPolicy("aggressive"), 0},
		{"balanced", withPolicy("balanced"), 1}, {"balanced, switched off", off, 4}} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, winnow.Config{Settings: c.settings})
			l.user("Go on.")
			l.append(session.Message{MessageInfo: session.MessageInfo{Role: session.Assistant, ProviderID: "p",
				ModelID: "m", Finish: "stop"}, Parts: []session.Part{
				{Type: session.StepStartPart}, {Type: session.TextPart, Text: "One."}, {Type: session.StepFinishPart},
				{Type: session.StepStartPart}, {Type: session.TextPart, Text: "Two."}, {Type: session.StepFinishPart},
			}})
			l.says("Three.")
			markers, texts := 0, 0
			for _, m := range l.view().Messages {
				for _, p := range m.Parts {
					switch p.Type {
					case session.StepStartPart, session.StepFinishPart:
						markers++
					case session.TextPart:
						texts++
					}
				}
			}
			if markers != c.want || texts != 4 {
				t.Errorf("%d markers and %d texts are shown, want %d and 4", markers, texts, c.want)
			}
		})
	}
}
