// Package snapshot answers: what did the working folder look like then? It keeps states of a folder as git trees in a repository of its own, compares them, and
// brings the folder back to one.
//
// The user's own repository is never written, nor are its configuration, its hooks and its filters used: only its rules about what is ignored are read.
//
// It runs the git program instead of linking an implementation. With its index a snapshot of 50,000 files in which little changed takes fractions of a
// second (the first one 20 s, on a busy machine of two cores); it knows what .gitignore means to the letter; and nothing is added to programs that take no snapshots. Where there is no git, there
// are no snapshots: Open says so.
//
// What is left out: what is ignored, new files of more than Config.Largest bytes, and what lies in repositories inside of the folder, submodules among them.
// Empty folders are not kept. Bytes are kept as they are, whatever .gitattributes says. Nothing is deleted from the repository; Pack makes it small.
package snapshot
