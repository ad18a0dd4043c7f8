package main

import (
	"errors"

	"github.com/winnowhq/winnow/llm"
)

// advice says what to do about a provider that refuses, "" where the error says it.
func (b *workbench) advice(err error) string {
	var e *llm.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Kind {
	case llm.Auth:
		if variable := b.set.KeyEnv(e.Provider); variable != "" {
			return "look at the key in " + variable
		}
		return "look at providers." + e.Provider + " in the configuration: its headers are what it is asked with"
	case llm.Rejected:
		if e.Status == 404 {
			return "`winnow models` lists models that are known; another one is chosen with --model, or /model in the chat"
		}
	case llm.Network:
		return "look at the connection, and at providers." + e.Provider + ".baseURL where it is set"
	}
	return ""
}
