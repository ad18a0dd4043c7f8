package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/winnowhq/winnow/format"
	"github.com/winnowhq/winnow/format/all"
	"github.com/winnowhq/winnow/plainfile"
	"github.com/winnowhq/winnow/skim"
)

// tooLarge is the size, in bytes, above which a file of lines is inspected a stretch at a time: reading it whole would take some four
// times as much memory.
const tooLarge = 64 << 20

// tooMany is the number of lines above which a file is inspected that way, however short they are: what is made of a line takes three kilobytes and more.
const tooMany = 1 << 15

// manyLines reports whether a file has more lines than that. It is at its beginning before and has been read after.
func manyLines(file io.Reader) bool {
	piece := make([]byte, 64<<10)
	for lines := 0; lines <= tooMany; {
		n, err := file.Read(piece)
		lines += bytes.Count(piece[:n], []byte{'\n'})
		if err != nil {
			return lines > tooMany
		}
	}
	return true
}

// skimMemory is how much memory, in bytes, the program may take, but for its own text, before it collects garbage more often than usual: twice what
// looking at one stretch takes.
const skimMemory = 112 << 20

// skim inspects a file that is too large to be held, when src is one.
func (a *app) skim(ctx context.Context, src string) (skimmed bool, err error) {
	if src == "-" {
		return false, nil
	}
	file, info, err := plainfile.Open(a.path(src))
	if err != nil {
		return false, nil // it may be in the store; if not, that is said there
	}
	defer file.Close()
	if info.Size() < a.env.tooLarge() && !manyLines(file) {
		return false, nil
	}
	head := make([]byte, 64<<10)
	n, err := file.ReadAt(head, 0)
	if err != nil && n == 0 {
		return false, fmt.Errorf("%s: %w", src, err)
	}
	f, ok := all.Detect(head[:n]).(format.Outliner)
	if !ok {
		return false, nil
	}
	debug.SetMemoryLimit(skimMemory)
	done := a.progress("reading " + src)
	pieces, err := format.Cut(file, info.Size(), f.Outline(), skim.Length)
	done()
	if err != nil {
		return false, fmt.Errorf("%s: %w", src, err)
	}
	settings, err := a.settings()
	if err != nil {
		return false, err
	}
	config, err := a.config(nil, settings)
	if err != nil {
		return false, err
	}
	done = a.progress("looking at " + src)
	report, err := skim.Inspect(ctx, skim.File{Pieces: pieces, Format: f}, config)
	done()
	if err != nil {
		return false, fmt.Errorf("%s: %w", src, err)
	}
	doc := inspection{Source: src, Format: f.Name(), Counts: &pieces.Counts, Report: report, Damaged: append([]format.Damage{}, pieces.Damaged...)}
	doc.Messages, doc.ToolCalls, doc.ToolResults = doc.Counts.Messages, doc.Counts.ToolCalls, doc.Counts.ToolResults
	s := &source{path: src, doc: &format.Document{Damaged: pieces.Damaged}}
	if a.json {
		err = a.print(doc)
	} else {
		a.paint().Inspection(doc.Report, s.title(), doc.Damaged)
	}
	if err != nil {
		return true, err
	}
	return true, s.done()
}
