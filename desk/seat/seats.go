package seat

import "slices"

// All are the seats, as people are shown them.
func All() []Seat { return []Seat{claude{}, codex{}, codexResults{}, openCode{}, pi{}} }

// Named finds a seat by its name, nil if there is none.
func Named(name string) Seat {
	all := All()
	if i := slices.IndexFunc(all, func(s Seat) bool { return s.Name() == name }); i >= 0 {
		return all[i]
	}
	return nil
}
