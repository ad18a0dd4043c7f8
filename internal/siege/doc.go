// Package siege attacks the gateway as a whole: its listener, its transport and its store, between
// clients and a provider that do their worst. It has tests alone.
package siege
