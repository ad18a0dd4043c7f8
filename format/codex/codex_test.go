package codex

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/winnowhq/winnow/format"
)

func read(t testing.TB, src []byte) *format.Document {
	t.Helper()
	doc, err := Format{}.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func write(t testing.TB, from *format.Document, change format.Change) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (Format{}).Write(&out, from, change); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	v := jsontext.Value(text)
	if err := v.Canonicalize(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		t.Fatal(err)
	}
	if err := v.Indent(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}
