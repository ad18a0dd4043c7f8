package policy

import "github.com/winnowhq/winnow/schedule"

// Schedules are the names of those that there are.
func Schedules() []string { return []string{schedule.Eager{}.Name(), schedule.Economic{}.Name()} }

// DefaultEconomic is the economic schedule where nothing else is said: a batch is committed when the rent that was paid for carrying it has reached what
// it costs to leave it out, and when a session as long again as it is now would gain by it.
func DefaultEconomic() schedule.Economic { return schedule.Economic{Least: 1000, Share: 1, Ahead: 1} }

// own is the schedule that a policy has where none was chosen.
func own(name string) string {
	if name == Balanced {
		return schedule.Economic{}.Name()
	}
	return schedule.Eager{}.Name()
}

// schedule is the one that the options choose for a policy, or the policy's own.
func (o Options) schedule(name string) schedule.Schedule {
	chosen := o.Schedule
	if chosen == "" {
		chosen = own(name)
	}
	switch {
	case chosen == schedule.Economic{}.Name():
		return DefaultEconomic()
	case name == Balanced:
		// What is too little to rewrite the prompt for is so whoever found it.
		return schedule.Eager{AtTurnEnd: true, Minimum: o.Minimum}
	}
	return schedule.Eager{AtTurnEnd: name != Aggressive}
}
