// Package seat installs winnow inside other agents: the files and settings that a product needs to
// call it, written so that taking them away leaves the bytes that were there before.
//
// A Seat says what a product needs, as a Plan, and this package does it: Preview shows every change
// and makes none, Install makes them and keeps a receipt with what was there before, Uninstall puts
// that back. What somebody changed since is told and left alone.
package seat

import (
	"io/fs"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
)

// Seat is the place for winnow in one product.
type Seat interface {
	// Name is what people call the product: "claude", "opencode", "codex", "pi".
	Name() string
	// Versions says with which versions of the product the seat works.
	Versions() Versions
	// Plan says what the product needs. It reads what it must know, and changes nothing.
	Plan(Place) (Plan, error)
	// Check looks for what keeps an installation from working: a switch of the product's that is
	// off, another program in the way. Whether the files are as they were written is not its
	// business, Examine does that.
	Check(Place) []Finding
}

// Versions are those of a product that a seat was tried with.
type Versions struct {
	Program string   // the command, as it is found in PATH
	Least   string   // the first version that has what is needed; "" if that is unknown
	Below   string   // the first version that is known to lack it again; "" if none is known to
	Tried   []string // oldest first
}

// Place is where something is installed, and by whom.
type Place struct {
	// Home is the user's home folder, absolute.
	Home string
	// Project is the folder of a project, absolute; "" installs for the user.
	Project string
	// Getenv reads the environment: products are moved by CLAUDE_CONFIG_DIR, CODEX_HOME and the
	// like. It must not be nil.
	Getenv func(string) string
	// Winnow is the whole path of the program that what is installed calls.
	Winnow string
	// Version is that of winnow. It stands in the receipt.
	Version string
	// Receipts is the folder in which receipts are kept, absolute.
	Receipts string
}

// Config is a folder of the product's for the user: what the variable says if that is an absolute
// path, else a path below the home folder.
func (p Place) Config(variable string, below ...string) string {
	if dir := p.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{p.Home}, below...)...)
}

// Plan is what a product needs.
type Plan struct {
	Files   []File   // written whole
	Members []Member // put into files of settings that have others, too
	Notes   []string // what is left to the user, a sentence each
}

// File is a file that is winnow's own.
type File struct {
	Path string // absolute
	Text []byte
	Mode fs.FileMode // 0 is 0644
}

// Member is a setting in a JSON file. The other bytes of the file stay as they are.
type Member struct {
	Path  string         // of the file, absolute; it is made if it is missing
	Keys  []string       // the names that lead to the member, from the outermost
	Value jsontext.Value // what it is set to
	// Append says that the member is an array to which the value is added, behind what is there.
	Append bool
}

// Finding is something that a person should know about an installation.
type Finding struct {
	Code  string // one word, or several joined by hyphens
	What  string // what is so
	Do    string // what to do about it
	Path  string // the file it is about, if it is about one
	Wrong bool   // whether the seat does not work for it
}

// Codes of findings that Examine makes for every seat.
const (
	Changed  = "seat-changed"  // a file is not what was written
	Missing  = "seat-missing"  // a file that was written is gone
	Outdated = "seat-outdated" // another version of winnow wrote it
	NoBinary = "seat-binary"   // the program that it calls is not there
)
