// Package bindings tests the hooks of rpc/bindings: agents of each framework do a chore against the
// scripted provider. make bindings installs the frameworks; without them the tests are skipped.
package bindings
