package settings

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Protected are names or globs that keep what they match from being left out. Defaults stay unless
// somebody names them: what is read is laid over what is there.
type Protected []string

// UnmarshalJSONFrom lays a list over what is there: an entry is added if it is new, and "!ENTRY"
// takes ENTRY away.
func (p *Protected) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var list []string
	if err := json.UnmarshalDecode(dec, &list); err != nil {
		return err
	}
	all := append([]string{}, *p...) // *p may be shared
	for _, entry := range list {
		gone, removes := strings.CutPrefix(entry, "!")
		switch {
		case removes:
			all = slices.DeleteFunc(all, func(has string) bool { return has == gone })
		case !slices.Contains(all, entry):
			all = append(all, entry)
		}
	}
	*p = all
	return nil
}
