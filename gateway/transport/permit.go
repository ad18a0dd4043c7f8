package transport

import (
	"strings"

	"github.com/winnowhq/winnow/text/span"
	"github.com/winnowhq/winnow/wire"
)

// permitted asks Options.Refer about what a request refers to, and Options.Permit about the models
// that it names.
func (t *Transport) permitted(in incoming) error {
	if err := t.mayRefer(in); err != nil {
		return err
	}
	if t.options.Permit == nil {
		return nil
	}
	if in.uncosted != "" {
		return t.options.Permit("")
	}
	if in.purpose == wire.Other || in.purpose == wire.Free {
		return nil
	}
	names := in.models()
	if len(names) == 0 {
		return t.options.Permit("")
	}
	for _, name := range names {
		if err := t.options.Permit(name); err != nil {
			return err
		}
	}
	return nil
}

// mayRefer asks Options.Refer about the members by which a request refers to something.
func (t *Transport) mayRefer(in incoming) error {
	if t.options.Refer == nil || in.purpose == wire.Other || in.purpose == wire.Free {
		return nil
	}
	text, skipped := wire.Complete(in.original)
	if in.uncosted != "" || len(skipped) > 0 || in.original != nil && !span.Valid(text) {
		return t.options.Refer(in.Context(), "")
	}
	for _, member := range wire.StoredReferences(text) {
		if err := t.options.Refer(in.Context(), member); err != nil {
			return err
		}
	}
	return nil
}

// models are the models that a request names, "" for one that cannot be read. A member may be there
// twice, and in capitals: which one counts is the provider's choice, so that all of them do here.
func (in incoming) models() (names []string) {
	if in.protocol.kind == wire.Gemini {
		if strings.Count(strings.ToLower(in.URL.Path), "/models/") > 1 {
			return []string{""}
		}
		return []string{addressed(in.URL.Path)}
	}
	text, skipped := wire.Complete(in.original)
	if len(skipped) > 0 {
		return []string{""}
	}
	root := wire.ValueOf(text)
	for m := range span.Members(root.Text, root.Span) {
		value := wire.Value{Span: m.Value, Text: root.Text}
		switch name := string(m.Name); {
		case strings.EqualFold(name, "model"):
			names = append(names, value.String())
		case strings.EqualFold(name, "models"): // OpenRouter's, which are tried in turn
			for one := range value.Values() {
				names = append(names, one.String())
			}
		}
	}
	return names
}
