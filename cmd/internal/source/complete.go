package source

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/desk/discover"
	"github.com/winnowhq/winnow/text/visible"
)

// CompleteSources offers files, the sessions of the store and those of this folder, and behind
// PRODUCT: all that it has kept.
func CompleteSources(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) (words []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		offer := func(word, what string) {
			if strings.HasPrefix(word, begun) && visible.Printable(word) {
				words = append(words, word+"\t"+what)
			}
		}
		listings, _ := Listings(cmd.Context(), a) // without them, files are offered
		for _, l := range listings {
			offer(l.Info.ID, TitleOf(l))
		}
		search := Search(a)
		search.NamesOnly, search.Folder = true, a.Env.Dir
		for _, product := range discover.Products() {
			if strings.HasPrefix(begun, product+":") {
				search.Product, search.Folder = product, ""
			}
		}
		found, _, _ := search.Find(cmd.Context()) // as above
		for i, word := range Words(found, found) {
			if found[i].Parent == "" {
				offer(word, titled(found[i].Title, found[i].Project))
			}
		}
		if len(found) > 0 && search.Product == "" {
			offer(Latest, "the newest session of this folder")
		}
		return words, cobra.ShellCompDirectiveDefault
	}
}
