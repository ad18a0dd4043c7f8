package call

// Forms are those that the table of tools may name.
var Forms = []Form{inList, alien, makes, Paged, Bare, Commands, Window, Patch, Lists, getsPage, Whole, Reads, Adds,
	Modifies, wraps}

// Known reports whether a tool is in the table.
func Known(tool string) bool { return table[Name(tool)] != nil }
