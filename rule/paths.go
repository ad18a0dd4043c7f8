package rule

import (
	"github.com/winnowhq/winnow/call"
	"github.com/winnowhq/winnow/session"
)

// pathKeys are the arguments that hold a path, in the vocabularies of the coding agents in use.
var pathKeys = []string{"filePath", "file_path", "path", "notebook_path", "filename", "file"}

// Paths returns the paths that a call names in its arguments, as the model wrote them.
func Paths(p *session.Part) []string {
	if p.State == nil {
		return nil
	}
	return pathsOf(argumentsOf(p))
}

func pathsOf(arguments call.Arguments) []string {
	var paths []string
	for _, a := range arguments {
		if position(pathKeys, a.Name) < len(pathKeys) && a.Value.Kind() == '"' {
			if path := scalar(a.Value); path != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
