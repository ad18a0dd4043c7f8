// Package tools holds the tools of an agent: they read and change files, run commands, look for
// names and text, get pages from the web, keep a list of what is to be done, load instructions, let
// another agent work, and look at or leave out what is in the context.
//
// The arguments have the names that package call understands, and what the tools print is what
// package coverage reads, so that the rules know which lines of which file a result shows. What a
// call may do is decided by package permission.
package tools
