package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/cmd/internal/source"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/text/quantity"
)

// modelList is the JSON document of models.
type modelList struct {
	Source string     `json:"source"` // the source of the catalogue
	Date   string     `json:"date"`   // the date of the catalogue
	Models []modelRow `json:"models"` // the requested models
}

// modelRow is one model of the JSON document of models.
type modelRow struct {
	Name string `json:"name"` // "provider/id"
	// Tokens of the context; 0 is unknown, or unlimited if "set" has "context".
	Context  int    `json:"context"`
	Input    int    `json:"input,omitzero"`    // tokens of the prompt alone, if they are limited apart
	Output   int    `json:"output"`            // tokens of an answer; 0 is unknown
	Price    prices `json:"price"`             // the price per million tokens
	CacheFor string `json:"cacheFor,omitzero"` // how long its cache keeps a prefix, such as "5m"
	// Assumptions about a model that is not in the catalogue, as sentences.
	Assumed []string `json:"assumed,omitempty"`
	// Values that the configuration sets: "context", "input", "output", "price.input",
	// "cache.seconds", …
	Set        []string `json:"set,omitempty"`
	ForPersons string   `json:"title,omitzero"` // its name for people
}

// prices are US dollars per million tokens; 0 is free or unknown.
type prices struct {
	Input      float64 `json:"input"`           // prompts that are not read from a cache
	Output     float64 `json:"output"`          // answers
	CacheRead  float64 `json:"cacheRead"`       // prompts that are read from the cache
	CacheWrite float64 `json:"cacheWrite"`      // prompts that are written to the cache
	Tiers      []tier  `json:"tiers,omitempty"` // prices of longer prompts
}

// tier holds for requests whose prompt has more tokens than above.
type tier struct {
	Above int    `json:"above"` // tokens of the prompt
	Price prices `json:"price"` // the prices above them
}

func pricesOf(p model.Price) prices {
	out := prices{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	for _, t := range p.Tiers {
		out.Tiers = append(out.Tiers, tier{t.Above, pricesOf(t.Price)})
	}
	return out
}

func modelsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "models [NAME]",
		Short: "List the models that are known, or what is known about one",
		Example: `  winnow config models
  winnow config models anthropic/claude-sonnet-4-5`,
		Args:              cli.Between(0, 1, "at most one NAME"),
		ValidArgsFunction: source.CompleteModels(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return runModels(a, args) },
	}
}

func runModels(a *cli.App, args []string) error {
	settings, err := a.Settings()
	if err != nil {
		return err
	}
	catalogue := settings.Catalogue(model.Default())
	models := catalogue.Models
	if len(args) == 1 {
		models = nil
		for _, m := range catalogue.Models {
			if strings.Contains(m.String(), args[0]) {
				models = append(models, m)
			}
		}
		if found := catalogue.Lookup(args[0]); len(models) == 0 {
			models = []model.Model{found}
		}
	}
	doc := modelList{catalogue.Source, catalogue.Date, []modelRow{}}
	for _, m := range models {
		doc.Models = append(doc.Models,
			modelRow{m.String(), m.Limits.Context, m.Limits.Input, m.Limits.Output, pricesOf(m.Price),
				lifetime(m), m.Assumed, m.Set, m.Name})
	}
	return a.Tell(doc, func() { showModels(a, doc) })
}

func showModels(a *cli.App, doc modelList) {
	width := 5
	for _, m := range doc.Models {
		width = max(width, len(m.Name))
	}
	const line = "%-*s  %9s  %8s  %8s  %8s  %8s  %8s  %s\n"
	a.Printf(line, width, "model", "context", "output", "in", "read", "write", "out", "cache")
	for _, m := range doc.Models {
		p := m.Price
		context := quantity.Number(m.Context)
		if m.Context == 0 {
			context = "unlimited"
		}
		price := func(dollars float64, key string) string {
			if dollars == 0 && slices.Contains(m.Set, "price."+key) {
				return "free"
			}
			if dollars == 0 {
				return quantity.Unknown
			}
			return quantity.Price(dollars)
		}
		a.Printf(line, width, m.Name, context, quantity.Number(m.Output), price(p.Input, "input"),
			price(p.CacheRead, "cacheRead"), price(p.CacheWrite, "cacheWrite"), price(p.Output, "output"), m.CacheFor)
		if len(m.Set) > 0 {
			a.Printf("  set by you: %s\n", strings.Join(m.Set, ", "))
		}
		for _, assumed := range m.Assumed {
			a.Printf("  assumed: %s\n", assumed)
		}
	}
	a.Printf("\nPrices are US dollars per million tokens. Source: %s, %s.\n", doc.Source, doc.Date)
}

func lifetime(m model.Model) string {
	if m.Cache.Lifetime == 0 {
		return ""
	}
	text := m.Cache.Lifetime.String()
	return strings.TrimSuffix(strings.TrimSuffix(text, "0s"), "0m")
}
