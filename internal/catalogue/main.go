// Generate writes model/catalogue.json from the model lists of the npm package
// @earendil-works/pi-ai (MIT).
//
//	npm pack @earendil-works/pi-ai && tar xzf earendil-works-pi-ai-*.tgz
//	go run ./internal/catalogue package
//
// It takes the package's folder. Limits and prices are the package's; what it does not say (cache
// terms, the price of an hour, limits of the prompt alone, which models bind their reasoning) comes
// from the rules in rules.go and of package model, each with its reason. Models of the catalogue so
// far that the package does not list any more are kept as they were, and marked as retired:
// sessions of their time name them.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnowhq/winnow/model"
)

func main() {
	out := flag.String("o", filepath.Join("model", "catalogue.json"), "file to write")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/catalogue [-o file] <folder of @earendil-works/pi-ai>")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// listed is a model as the package lists it.
type listed struct {
	Type string `json:"type"` // "chat", or what is not for agents
	ID   string `json:"id"`
	Name string `json:"name"`
	Cost struct {
		cost
		Tiers []struct {
			cost
			Above int `json:"inputTokensAbove"`
		} `json:"tiers"`
	} `json:"cost"`
	ContextWindow int `json:"contextWindow"`
	MaxTokens     int `json:"maxTokens"`
}

type cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

func (c cost) price() model.Price {
	return model.Price{Input: round(c.Input), Output: round(c.Output), CacheRead: round(c.CacheRead),
		CacheWrite: round(c.CacheWrite)}
}

func run(folder, out string) error {
	version, day, err := origin(folder)
	if err != nil {
		return err
	}
	former, err := read(out)
	if err != nil {
		return err
	}
	c := model.Catalogue{Source: "@earendil-works/pi-ai " + version + " (MIT), and the rules of internal/catalogue",
		Date: day}
	retired := 0
	for _, choice := range choices {
		models, err := choice.models(folder)
		if err != nil {
			return err
		}
		for _, m := range former.Models {
			same := func(n model.Model) bool { return n.ID == m.ID }
			if m.Provider == choice.provider && choice.takes(m.ID) && !slices.ContainsFunc(models, same) {
				m.Retired = true
				models = append(models, m)
				retired++
			}
		}
		slices.SortFunc(models, func(a, b model.Model) int { return strings.Compare(a.ID, b.ID) })
		c.Models = append(c.Models, models...)
	}
	data, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	// One model a line: a change of a price is a change of a line.
	data = bytes.ReplaceAll(data, []byte(`{"provider":`), []byte("\n"+`{"provider":`))
	if err := os.WriteFile(out, append(data, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d models of %d providers, %d of them retired, %s, %s\n", out, len(c.Models), len(choices), retired,
		c.Source, c.Date)
	return nil
}

// origin is the version of the package, and the day on which its lists were made.
func origin(folder string) (version, day string, err error) {
	var manifest struct{ Version string }
	if err := load(filepath.Join(folder, "package.json"), &manifest); err != nil {
		return "", "", err
	}
	var made struct{ GeneratedAt time.Time }
	if err := load(filepath.Join(folder, lists, ".manifest.json"), &made); err != nil {
		return "", "", err
	}
	return manifest.Version, made.GeneratedAt.UTC().Format(time.DateOnly), nil
}

// lists is the folder of the package that has a list for each provider.
var lists = filepath.Join("dist", "providers", "data")

func load(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: has the package changed?", err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// read is the catalogue so far, an empty one where there is none.
func read(path string) (*model.Catalogue, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &model.Catalogue{}, nil
	} else if err != nil {
		return nil, err
	}
	return model.Parse(text)
}

// models are those of the provider's list that are wanted. The list groups them by API.
func (c choice) models(folder string) ([]model.Model, error) {
	var apis map[string]map[string]listed
	if err := load(filepath.Join(folder, lists, c.provider+".json"), &apis); err != nil {
		return nil, err
	}
	var models []model.Model
	for _, list := range apis {
		for _, l := range list {
			if l.Type == "chat" && c.takes(l.ID) {
				models = append(models, entry(c.provider, l))
			}
		}
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("%s lists no model of %s that is wanted: has the package changed?", folder, c.provider)
	}
	return models, nil
}

func entry(provider string, l listed) model.Model {
	m := model.Model{
		Provider: provider, ID: l.ID, Name: l.Name,
		Limits: model.Limits{Context: max(0, l.ContextWindow), Output: max(0, l.MaxTokens)},
		Price:  l.Cost.price(), BoundReasoning: model.BindsReasoning(l.ID),
	}
	for _, t := range l.Cost.Tiers {
		m.Price.Tiers = append(m.Price.Tiers, model.Tier{Above: t.Above, Price: t.price()})
	}
	limits(&m)
	cache(&m)
	prices(&m)
	return m
}

// choice is which models of a provider are taken.
type choice struct {
	provider string
	ids      []string // patterns of path.Match, in which * does not cross a slash
	not      []string
}

func (c choice) takes(id string) bool {
	any := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, strings.ToLower(id))
			return ok && err == nil
		})
	}
	return any(c.ids) && !any(c.not)
}
