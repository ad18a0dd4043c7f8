// Package desk holds what knows this computer: its settings, its agents, their files.
//
// Its rooms, in reading order:
//
//   - config: what the user set
//   - discover: the sessions that are here
//   - inplace: another program's file, replaced without losing what is written to it
//   - archive: old sessions, compressed in a folder of winnow's own, and back
//   - hook: the user's own commands at what happens
//   - seat: winnow inside other agents, and the way out again
//
// Begin with config.
package desk
