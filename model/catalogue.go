package model

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Catalogue is a list of models with its origin. More than one provider may offer the same id; the
// first in the list is meant when an id is looked up without its provider.
type Catalogue struct {
	Source string // the source of the facts, in words
	Date   string // the day of the facts, 2006-01-02
	Models []Model

	overrides []Override // applied to Models already, kept for models that a lookup has to assume
	added     int        // how many of Models, the last ones, the overrides added
}

//go:embed catalogue.json
var catalogueJSON []byte

// embedded reads the embedded catalogue once, when it is first asked for. A test reads every entry
// of it.
var embedded = sync.OnceValue(func() *Catalogue {
	c, err := Parse(catalogueJSON)
	if err != nil {
		panic("model: the embedded catalogue does not parse: " + err.Error()) // impossible in a tested build
	}
	return c
})

// Default returns the catalogue that is embedded in the program. The list is the caller's own; the
// tiers and assumptions inside its models are shared and must not be changed.
func Default() *Catalogue {
	c := *embedded()
	c.Models = slices.Clone(c.Models)
	return &c
}

// file is the catalogue on disk. Prices are in dollars per million tokens, lifetimes in seconds.
type file struct {
	Source string  `json:"source"`
	Date   string  `json:"date"`
	Models []entry `json:"models"`
}

type entry struct {
	Provider string    `json:"provider"`
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Limit    Limits    `json:"limit"`
	Price    Price     `json:"price,omitzero"`
	Cache    fileCache `json:"cache,omitzero"`
	Bound    bool      `json:"boundReasoning,omitzero"`
	Retired  bool      `json:"retired,omitzero"`
}

type fileCache struct {
	Seconds   int  `json:"seconds"`
	MinPrefix int  `json:"minPrefix,omitzero"`
	Explicit  bool `json:"explicit,omitzero"`
}

// Parse reads a catalogue in the JSON that [Catalogue.MarshalJSON] writes.
func Parse(data []byte) (*Catalogue, error) {
	var f file
	if err := json.Unmarshal(data, &f, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, fmt.Errorf("model: read catalogue: %w", err)
	}
	c := &Catalogue{Source: f.Source, Date: f.Date, Models: make([]Model, 0, len(f.Models))}
	for i, e := range f.Models {
		if e.ID == "" {
			return nil, fmt.Errorf("model: read catalogue: entry %d has no id", i)
		}
		c.Models = append(c.Models, Model{
			Provider: e.Provider, ID: e.ID, Name: e.Name, Limits: e.Limit, Price: e.Price, BoundReasoning: e.Bound,
			Retired: e.Retired,
			Cache: Cache{Lifetime: lifetime(e.Cache.Seconds), MinPrefix: e.Cache.MinPrefix,
				Explicit: e.Cache.Explicit},
		})
	}
	return c, nil
}

// MarshalJSON writes the catalogue without what a lookup assumed.
func (c *Catalogue) MarshalJSON() ([]byte, error) {
	f := file{Source: c.Source, Date: c.Date, Models: make([]entry, 0, len(c.Models))}
	for _, m := range c.Models {
		f.Models = append(f.Models, entry{
			Provider: m.Provider, ID: m.ID, Name: m.Name, Limit: m.Limits, Price: m.Price, Bound: m.BoundReasoning,
			Retired: m.Retired,
			Cache: fileCache{Seconds: int(m.Cache.Lifetime / time.Second), MinPrefix: m.Cache.MinPrefix,
				Explicit: m.Cache.Explicit},
		})
	}
	return json.Marshal(f)
}
