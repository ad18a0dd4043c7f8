// Package bindings runs the hooks of rpc/bindings in programs of the frameworks that they are for,
// against the scripted provider. Its tests need the frameworks: make bindings installs the newest.
package bindings
