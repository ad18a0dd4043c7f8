// Package tworuns plays one scripted client against one scripted provider as often as a test likes:
// directly, and through whatever the test puts between the two. Claims about money, caches and
// faults are judged by the difference between two such runs, never by a forecast of our own.
//
//	scene := tworuns.Scene{Steps: 120, CompactAt: 60_000, CharsPerToken: 3.6, Hour: true}
//	alone := scene.Play(t, nil)
//	with := scene.Play(t, func(p tworuns.Place) http.RoundTripper { return transport.New(engine(p.Now), …) })
//	saved := alone.Billed - with.Billed
//
// The client keeps its own history as raw JSON, takes answers into it as they came, moves its cache
// marks, compacts itself at a prompt that the provider's own report says is too large, rewinds,
// repeats itself, and changes its credential, as the scene says. It writes bodies without the
// encoders of package wire.
//
// The provider is package llmtest with terms of its own: a number of characters a token, a cache
// that finds the longest known prefix, thinking that is bound to its exact prompt, one-hour writes,
// and a price table that was copied from the providers' pages by hand.
//
// Time is the scene's: it passes by the scene's pauses alone. Place.Now is the clock of both.
package tworuns
