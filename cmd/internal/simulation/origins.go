package simulation

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnowhq/winnow/cmd/internal/cli"
	"github.com/winnowhq/winnow/lab"
	"github.com/winnowhq/winnow/text/plainfile"
	"github.com/winnowhq/winnow/text/quantity"
)

// mostOrigins is the largest file of --sources.
const mostOrigins = 64 << 20

// Origins says where sessions come from, as a file of --sources does: lines with tabs between their
// fields, under a head that names the columns file and source. Files are found from its folder.
// Sessions that it does not name keep what their own folder says.
func (r *Reader) Origins(file string, sources []lab.Source) error {
	if file == "" {
		return nil
	}
	path := r.app.Path(file)
	data, _, err := plainfile.Read(path, mostOrigins)
	if err != nil {
		return err
	}
	of, err := origins(string(data))
	if err != nil {
		return cli.Usage("--sources %s: %w", file, err)
	}
	named := make(map[string]string, len(of))
	for name, source := range of {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		named[filepath.Clean(name)] = source
	}
	found := false
	for i := range sources {
		s := &sources[i]
		database, _, _ := strings.Cut(s.Path, "#")
		s.Group = cmp.Or(named[s.Path], named[database])
		found = found || s.Group != ""
	}
	if !found && len(sources) > 0 {
		return cli.Usage("--sources %s names none of the files that are replayed; its names, such as %s, are looked "+
			"up from its own folder",
			file, slices.Min(slices.Collect(maps.Keys(of))))
	}
	r.origins = named
	return nil
}

// Unnamed tells of sessions that were replayed and that the file of --sources does not name.
func (r *Reader) Unnamed(report lab.Report) {
	if r.origins == nil {
		return
	}
	n := 0
	for i := range report.Sessions {
		database, _, _ := strings.Cut(report.Sessions[i].Path, "#")
		if r.origins[report.Sessions[i].Path] == "" && r.origins[database] == "" {
			n++
		}
	}
	if n > 0 {
		r.app.Warn("the file of --sources does not name %s; the source of each is the folder in which it worked",
			quantity.Count(n, "session"))
	}
}

// origins reads which source each file has.
func origins(text string) (map[string]string, error) {
	in := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	in.Comma, in.LazyQuotes, in.FieldsPerRecord = '\t', true, -1
	rows, err := in.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("it is empty")
	}
	file, source := slices.Index(rows[0], "file"), slices.Index(rows[0], "source")
	if file < 0 || source < 0 {
		return nil, errors.New("its first line must name the columns file and source, with tabs between the columns")
	}
	of := map[string]string{}
	for i, row := range rows[1:] {
		if len(row) <= max(file, source) || row[file] == "" || row[source] == "" {
			return nil, fmt.Errorf("line %d has no file or no source", i+2)
		}
		of[row[file]] = row[source]
	}
	if len(of) == 0 {
		return nil, errors.New("it names no file")
	}
	return of, nil
}
