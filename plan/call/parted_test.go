package call_test

import (
	"reflect"
	"testing"

	"github.com/winnowhq/winnow/internal/workday"
	"github.com/winnowhq/winnow/plan/call"
	"github.com/winnowhq/winnow/session"
)

// What is read once is what each part of a log says by itself, also where the folder is known only
// from the rest, and where the rest shows that the product reports failed commands.
func TestParted_isCallsOfBoth(t *testing.T) {
	log := workday.Make(3, 60).Messages
	late := append([]session.Message(nil), log...)
	for i := range late[:len(late)/2] {
		late[i].Path = nil
	}
	late[len(late)/2].Path = &session.Path{Cwd: "/elsewhere"}
	for name, log := range map[string][]session.Message{"a day": log, "a folder that is known late": late} {
		for n := 0; n <= len(log); n += 7 {
			first, all := call.Parted(log, n)
			if want := call.Calls(log[:n]); !reflect.DeepEqual(first, want) && len(first)+len(want) > 0 {
				t.Fatalf("%s: the first %d messages have %d calls, by themselves %d, or others", name, n, len(first), len(want))
			}
			if !reflect.DeepEqual(all, call.Calls(log)) {
				t.Fatalf("%s: all calls are others when the first %d messages are told too", name, n)
			}
		}
	}
}
