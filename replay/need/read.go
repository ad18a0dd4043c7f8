package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/model"
	"github.com/winnowhq/winnow/replay"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/token"
)

// recorded is a session and whose it is.
type recorded struct {
	source string
	trace  *replay.Trace
	texts  *texts
}

// counter is the one that the program counts with where nothing is configured.
var counter = token.Linear{}

// read reads the sessions below folders. An INDEX.tsv in one of them, with the columns file and source, says whose each is and is the list of them; without
// it a source is a folder. What is no session is passed over.
func read(folders []string) ([]recorded, error) {
	var sessions []recorded
	for _, folder := range folders {
		sources, err := index(filepath.Join(folder, "INDEX.tsv"))
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			source := filepath.Dir(path)
			if sources != nil {
				name, err := filepath.Rel(folder, path)
				if source = sources[filepath.ToSlash(name)]; err != nil || source == "" {
					return err
				}
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			doc, err := all.Read(data)
			if err != nil {
				return nil
			}
			t := replay.NewTrace(doc.Session, reader(doc.Session), counter)
			t.Name = strings.TrimSuffix(filepath.Base(path), ".gz")
			if t.Steps() > 1 {
				sessions = append(sessions, recorded{source: source, trace: t, texts: newTexts(t)})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// reader is the model that answered last.
func reader(s session.Session) model.Model {
	name := ""
	for i := len(s.Messages) - 1; i >= 0 && name == ""; i-- {
		if ref := s.Messages[i].Answers(); ref != nil && !s.Messages[i].IsSummary() {
			name = ref.String()
		}
	}
	return model.Default().Lookup(name)
}

// index reads which file is whose, nil where there is none.
func index(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	file, source := -1, -1
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if file < 0 {
			for i, name := range columns {
				switch name {
				case "file":
					file = i
				case "source":
					source = i
				}
			}
			if file < 0 || source < 0 {
				return nil, fmt.Errorf("%s: the first line names no columns file and source", path)
			}
			continue
		}
		if len(columns) > max(file, source) {
			sources[columns[file]] = columns[source]
		}
	}
	return sources, nil
}
