package memory_test

import (
	"testing"

	"github.com/winnowhq/winnow/store"
	"github.com/winnowhq/winnow/store/memory"
	"github.com/winnowhq/winnow/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}
