package gateway

import (
	"testing"

	"golang.org/x/sys/unix"
)

// No core dump holds what a relay holds.
func TestUndumpable(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Skip(err)
	}
	undumpable()
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); now != 0 || err != nil {
		t.Errorf("dumpable is %d, %v", now, err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(before), 0, 0, 0); err != nil {
		t.Error(err)
	}
}
