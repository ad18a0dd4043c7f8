// Generate writes model/catalogue.json from the model list of the npm package @mariozechner/pi-ai
// (MIT).
//
//	npm install @mariozechner/pi-ai
//	go run ./internal/catalogue node_modules/@mariozechner/pi-ai
//
// It takes the package's folder, its dist folder or the file models.generated.js. Limits and prices
// are the package's; what it does not say (cache terms, the price of an hour, limits of the prompt
// alone, prices of long prompts) comes from the rules in rules.go, each with its reason.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/model"
)

func main() {
	out := flag.String("o", filepath.Join("model", "catalogue.json"), "file to write")
	date := flag.String("date", "", "day of the list, 2006-01-02 (default: of the file)")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/catalogue [-date 2006-01-02] [-o file] <folder of @mariozechner/pi-ai>")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out, *date); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// listed is a model as the package lists it.
type listed struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Reasoning bool   `json:"reasoning"`
	Cost      struct {
		Input, Output, CacheRead, CacheWrite float64
	} `json:"cost"`
	ContextWindow int `json:"contextWindow"`
	MaxTokens     int `json:"maxTokens"`
}

func run(source, out, date string) error {
	list, version, day, err := load(source)
	if err != nil {
		return err
	}
	c := model.Catalogue{Source: "@mariozechner/pi-ai " + version + " (MIT), and the rules of internal/catalogue",
		Date: cmp.Or(date, day)}
	for _, choice := range choices {
		ids := make([]string, 0, len(list[choice.provider]))
		for id := range list[choice.provider] {
			if choice.takes(id) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return fmt.Errorf("%s lists no model of %s that is wanted: has the package changed?", source,
				choice.provider)
		}
		slices.Sort(ids)
		for _, id := range ids {
			c.Models = append(c.Models, entry(choice.provider, list[choice.provider][id]))
		}
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
	fmt.Printf("%s: %d models of %d providers, %s, %s\n", out, len(c.Models), len(choices), c.Source, c.Date)
	return nil
}

func entry(provider string, l listed) model.Model {
	m := model.Model{
		Provider: provider, ID: l.ID, Name: l.Name,
		Limits: model.Limits{Context: max(0, l.ContextWindow), Output: max(0, l.MaxTokens)},
		Price: model.Price{
			Input: round(l.Cost.Input), Output: round(l.Cost.Output), CacheRead: round(l.Cost.CacheRead),
			CacheWrite: round(l.Cost.CacheWrite),
		},
	}
	limits(&m)
	cache(&m)
	prices(&m)
	return m
}

// load reads the list, the version of the package beside it, and the day of the file.
func load(source string) (list map[string]map[string]listed, version, day string, err error) {
	file := source
	if info, err := os.Stat(source); err != nil {
		return nil, "", "", err
	} else if info.IsDir() {
		file = filepath.Join(source, "models.generated.js")
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			file = filepath.Join(source, "dist", "models.generated.js")
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", "", err
	}
	if err := json.Unmarshal(toJSON(data), &list); err != nil {
		return nil, "", "", fmt.Errorf("read %s: %w", file, err)
	}
	if info, err := os.Stat(file); err == nil {
		day = info.ModTime().UTC().Format("2006-01-02")
	}
	var manifest struct{ Version string }
	if data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "package.json")); err == nil {
		_ = json.Unmarshal(data, &manifest)
	}
	return list, cmp.Or(manifest.Version, "of unknown version"), day, nil
}

var (
	bareKey  = regexp.MustCompile(`(?m)^(\s*)([A-Za-z_]\w*):`)
	inObject = regexp.MustCompile(`([{,]\s*)([A-Za-z_]\w*):`)
	lastOne  = regexp.MustCompile(`,(\s*[}\]])`)
)

// toJSON makes JSON of the JavaScript module, which is one literal, a property a line: quotes the
// names of properties, drops the commas after the last.
func toJSON(js []byte) []byte {
	from, to := bytes.IndexByte(js, '{'), bytes.LastIndexByte(js, '}')
	if from < 0 || to < from {
		return nil
	}
	js = bareKey.ReplaceAll(js[from:to+1], []byte(`$1"$2":`))
	js = inObject.ReplaceAll(js, []byte(`$1"$2":`))
	return lastOne.ReplaceAll(js, []byte(`$1`))
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
