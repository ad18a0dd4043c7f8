package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
)

const (
	longest = 400 // lines of a file
	widest  = 20  // fields of a struct
)

// shape is what of the house no head holds, without tests: by file, and by file and type.
type shape struct{ files, structs []string }

// shapeOf reads all Go files below a folder.
func shapeOf(root string) (s shape) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if set.File(file.FileStart).LineCount() > longest {
			s.files = append(s.files, path)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			t, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := t.Type.(*ast.StructType); ok && fields.Fields.NumFields() > widest {
				s.structs = append(s.structs, path+": "+t.Name.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// folders are those at the top, without hidden ones.
func folders(root string) (n int) {
	entries, err := os.ReadDir(root)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n
}
