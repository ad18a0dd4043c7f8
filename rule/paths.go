package rule

import "github.com/winnowhq/winnow/session"

// pathKeys are the arguments that hold a path, in the vocabularies of the coding agents in use.
var pathKeys = []string{"filePath", "file_path", "path", "notebook_path", "filename", "file"}

// Paths returns the paths that a call names in its arguments, as the model wrote them.
func Paths(p *session.Part) []string {
	if p.State == nil {
		return nil
	}
	var paths []string
	for name, value := range members(p.State.Input) {
		if position(pathKeys, name) < len(pathKeys) && value.Kind() == '"' {
			if path := scalar(value); path != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
