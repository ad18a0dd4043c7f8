package tenant

import (
	"fmt"
	"strconv"
	"strings"
)

// StoreName names the store of a tenant: a tenant's name for the first of that name, NAME.2, NAME.3
// and so on for those that were added after one was removed. It is never given twice, so that a
// tenant inherits nothing from one before.
func StoreName(name string, generation int) string {
	if generation < 2 {
		return name
	}
	return name + "." + strconv.Itoa(generation)
}

// ParseStoreName takes apart what StoreName made. It refuses anything else: stores name files.
func ParseStoreName(store string) (name string, generation int, err error) {
	name, number, later := strings.Cut(store, ".")
	if generation = 1; later {
		generation, err = strconv.Atoi(number)
	}
	if err != nil || StoreName(name, generation) != store {
		return "", 0, fmt.Errorf("%q cannot name the store of a tenant", store)
	}
	return name, generation, CheckName(name)
}
