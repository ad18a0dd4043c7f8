package geminicli

import (
	"testing"

	"github.com/winnowhq/winnow/internal/filetest"
)

func TestWrite_everythingComesBackAndEverythingCanBeUndone(t *testing.T) {
	filetest.RoundTrips(t, Format{}, load(t, "chat.jsonl"), 60)
}
