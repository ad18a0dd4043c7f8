package policy

import "github.com/winnowhq/winnow/plan/schedule"

// Schedules are the names of the schedules.
func Schedules() []string {
	return []string{schedule.Eager{}.Name(), schedule.Economic{}.Name(), schedule.Cold{}.Name()}
}

// own is the schedule that a policy has where none was chosen.
func own(name string) string {
	if Sound(name) {
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
		return schedule.NewEconomic()
	case chosen == schedule.Cold{}.Name():
		return schedule.Cold{}
	case Sound(name):
		// The minimum counts for what all rules found together.
		return schedule.Eager{AtTurnEnd: true, Minimum: o.Minimum}
	}
	return schedule.Eager{AtTurnEnd: name != Aggressive}
}
