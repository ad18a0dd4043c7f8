package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/config"
	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/visible"
)

// complete offers words for a flag.
func complete(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that does not exist or is registered twice, which no user can cause.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// writable are the formats that can be written.
func writable() []string {
	var names []string
	for _, f := range all.Formats() {
		if err := f.Write(new(strings.Builder), nil, format.Change{}); !errors.Is(err, format.ErrReadOnly) {
			names = append(names, f.Name())
		}
	}
	return names
}

// completeSources offers files, and the sessions of the store.
func (a *app) completeSources(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	listings, err := a.listings(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var ids []string
	for _, l := range listings {
		if strings.HasPrefix(l.Info.ID, begun) && visible.Printable(l.Info.ID) {
			ids = append(ids, l.Info.ID+"\t"+titleOf(l))
		}
	}
	return ids, cobra.ShellCompDirectiveDefault
}

// completeKeys offers the settings.
func completeKeys(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var keys []string
	for _, key := range config.Keys() {
		if len(args) == 0 && strings.HasPrefix(key, begun) {
			keys = append(keys, key)
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// completeModels offers the names of the models.
func (a *app) completeModels(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	catalogue, err := a.models()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, m := range catalogue.Models {
		if name := m.String(); strings.HasPrefix(name, begun) && visible.Printable(name) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
