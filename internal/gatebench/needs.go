//go:build unix

package main

import (
	"flag"
	"fmt"
	"math"

	"github.com/winnowhq/winnow/internal/arrivals"
)

// needsRole is the first argument that computes what live sessions need, from what a request was
// measured to cost:
//
//	go run ./internal/gatebench needs -sessions FOLDER
//
// The defaults are the figures of recorded sessions in docs/scale.md.
const needsRole = "needs"

// stretchesADay is how many stretches of work a developer is taken to begin in a day.
const stretchesADay = 3

// connectionsOf is how many connections a replica has to its database at most.
const connectionsOf = 26

// replicaCores is how many processors a replica is taken to have.
const replicaCores = 2

func needs(args []string) {
	var c arrivals.Cost
	f := flag.NewFlagSet(needsRole, flag.ExitOnError)
	folder := f.String("sessions", "", "folder of recorded sessions, of any product")
	live := f.String("live", "1000,100000,1000000", "sessions that are live at a time")
	developers := f.Int("developers", 10_000, "developers of an office")
	for _, figure := range []struct {
		to           *float64
		name, is     string
		asInDocument float64
	}{
		{&c.Winnow, "winnow", "processor time of a request in winnow, milliseconds", 4.8},
		{&c.Database, "database", "the same in PostgreSQL", 2.2},
		{&c.Trips, "trips", "round trips to the database", 3.6},
		{&c.To, "to", "bytes to the database", 9700},
		{&c.From, "from", "bytes from it", 2200},
		{&c.WAL, "wal", "bytes of WAL without an index", 8600},
		{&c.Disk, "disk", "bytes on the disk without an index", 5000},
		{&c.IndexWAL, "index-wal", "bytes of WAL for the index, made in steps", 19_100},
		{&c.IndexDisk, "index-disk", "bytes on the disk of the index", 6900},
		{&c.Shared, "shared", "waits for the disk, of many at a time", 1.7},
		{&c.Alone, "alone", "the same, one after the other", 3.1},
		{&c.Conversation, "conversation", "bytes that a conversation at hand takes of a process", 3.6e6},
	} {
		f.Float64Var(figure.to, figure.name, figure.asInDocument, figure.is)
	}
	_ = f.Parse(args) // it exits
	recorded, _ := stretches(*folder)
	if len(recorded) == 0 {
		fmt.Println("there is no recorded session with times")
		return
	}
	rate := arrivals.Rate(recorded)
	office := arrivals.MostLive(recorded, stretchesADay**developers, hours, longestPause, 1)
	fmt.Printf("%d developers begin %d stretches of work a day each, from eight to six: %d are live at the busiest "+
		"moment.\n\n", *developers, stretchesADay, office)
	all := []arrivals.Need{arrivals.NeedOf(c, rate, office)}
	for _, n := range numbers(*live) {
		all = append(all, arrivals.NeedOf(c, rate, n))
	}
	row := func(name string, of func(arrivals.Need) string) {
		fmt.Print("| ", name)
		for _, n := range all {
			fmt.Print(" | ", of(n))
		}
		fmt.Println(" |")
	}
	row("live", func(n arrivals.Need) string { return fmt.Sprint(n.Live) })
	fmt.Println("|---|---|---|---|---|")
	row("requests a second", func(n arrivals.Need) string { return fmt.Sprintf("%.0f", n.Requests) })
	row("cores of winnow", func(n arrivals.Need) string { return fmt.Sprint(n.WinnowCores) })
	row("memory with all of them at hand", func(n arrivals.Need) string { return large(n.Memory) })
	row("replicas of two cores", func(n arrivals.Need) string { return fmt.Sprint(replicasOf(n)) })
	row("memory of each", func(n arrivals.Need) string { return large(n.Memory / float64(replicasOf(n))) })
	row("cores of PostgreSQL", func(n arrivals.Need) string { return fmt.Sprint(n.DatabaseCores) })
	row("transactions a second", func(n arrivals.Need) string { return fmt.Sprintf("%.0f", n.Transactions) })
	row("to the database / from it, a second", func(n arrivals.Need) string { return large(n.To) + " / " + large(n.From) })
	row("WAL a second, without / with the index", func(n arrivals.Need) string { return large(n.WAL) + " / " + large(n.IndexedWAL) })
	row("waits for the disk a second: shared / not", func(n arrivals.Need) string {
		return fmt.Sprintf("%.0f / %.0f", n.SharedWaits, n.WaitsAlone)
	})
	for _, d := range []struct {
		name string
		days float64
	}{{"disk, a day around the clock", 1}, {"disk, a day of an office", arrivals.OfficeShare},
		{"disk, 30 days of an office", 30 * arrivals.OfficeShare}} {
		row(d.name+", without / with the index", func(n arrivals.Need) string {
			return large(n.Disk*d.days) + " / " + large(n.IndexedDisk*d.days)
		})
	}
	row("connections at most", func(n arrivals.Need) string { return fmt.Sprint(replicasOf(n) * connectionsOf) })
}

// replicasOf is how many replicas there are, one more than needed of one for upgrades.
func replicasOf(n arrivals.Need) int {
	return max(2, int(math.Ceil(float64(n.WinnowCores)/replicaCores)))
}

// large are bytes for people, in two digits or three.
func large(n float64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	for n >= 1000 && len(units) > 1 {
		n, units = n/1000, units[1:]
	}
	if n < 10 {
		return fmt.Sprintf("%.1f %s", n, units[0])
	}
	return fmt.Sprintf("%.0f %s", n, units[0])
}
