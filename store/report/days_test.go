package report_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnowhq/winnow/model/bill"
	"github.com/winnowhq/winnow/session"
	"github.com/winnowhq/winnow/store/report"
)

func TestSumDays(t *testing.T) {
	zone := time.FixedZone("east", 3*3600)
	until := time.Date(2026, 3, 9, 15, 0, 0, 0, zone)
	at := func(day, hour int) session.Millis {
		return session.Millis(time.Date(2026, 3, day, hour, 0, 0, 0, zone).UnixMilli())
	}
	spent := func(day, hour int, model string, cost float64) report.Spending {
		return report.Spending{Hour: at(day, hour), Model: model, Requests: 2, Cost: cost}
	}
	agents := spent(9, 1, "fast", 7)
	agents.Agent = true
	d := report.SumDays([]report.Worked{
		{Word: "a:1", Product: "a", Project: "/p", Spent: []report.Spending{spent(8, 1, "big", 2), spent(9, 1, "fast", 1),
			spent(1, 1, "big", 100), agents}, Apart: true, Uncosted: 3}, // its sub-agents are told below
		{Word: "a:2", Product: "a", Project: "/p", Sub: true, Spent: []report.Spending{spent(9, 2, "fast", 7)}},
		{Word: "b:1", Product: "b", Project: "/q", Spent: []report.Spending{spent(9, 0, "big", 4)}},         // just after midnight there
		{Word: "b:2", Product: "b", Updated: at(8, 20), Spent: []report.Spending{{Requests: 1, Cost: 0.5}}}, // no time: its last change
		{Word: "b:3", Product: "b", Spent: []report.Spending{spent(2, 0, "big", 50)}},                       // before
	}, 7, until)
	if d.Since != "2026-03-03" || d.Until != "2026-03-09" || len(d.Days) != 7 || d.Cost != 14.5 || d.Sessions != 3 ||
		d.Requests != 9 || d.Uncosted != 1 {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff([]report.DayCost{{Day: "2026-03-08", Cost: 2.5, ByProduct: map[string]float64{"a": 2, "b": .5}},
		{Day: "2026-03-09", Cost: 12, ByProduct: map[string]float64{"a": 8, "b": 4}}}, d.Days[5:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]report.SpentOn{{Name: "a", Sessions: 1, Cost: 10, Uncosted: 1}, {Name: "b", Sessions: 2, Cost: 4.5}}, d.Products); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]report.SpentOn{{Name: "fast", Sessions: 1, Cost: 8},
		{Name: "big", Sessions: 2, Cost: 6}, {Sessions: 1, Cost: .5}}, d.Models); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"b:1", "a:1", "b:2"} {
		if d.Dearest[i].Word != want {
			t.Errorf("the dearest are %+v", d.Dearest)
		}
	}
	all := 0.0
	for _, p := range d.Projects {
		all += p.Cost
	}
	if math.Abs(all-d.Cost) > 1e-9 {
		t.Errorf("projects add up to %v, want %v", all, d.Cost)
	}
}

// A day of summer time has 23 or 25 hours, and is one day all the same.
func TestSumDays_overTheChangeOfClocks(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	d := report.SumDays(nil, 4, time.Date(2026, 3, 31, 0, 30, 0, 0, zone))
	var days []string
	for _, day := range d.Days {
		days = append(days, day.Day)
	}
	if diff := cmp.Diff([]string{"2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"}, days); diff != "" {
		t.Error(diff)
	}
}

func TestSpendings_areByHourAndModel(t *testing.T) {
	one := func(time session.Millis, model, kind string, cost float64) report.Request {
		return report.Request{Time: time, Model: model, Kind: kind, Bill: bill.Bill{Requests: 1, Cost: cost}}
	}
	got := report.Spendings([]report.Request{one(3_700_000, "x", "step", 1), one(100, "x", "step", 2), one(200, "x", "step", 3),
		one(300, "y", "step", 4), one(400, "x", "agent", 5), one(-5, "x", "step", 6)})
	want := []report.Spending{{Hour: 0, Model: "x", Requests: 3, Cost: 11}, {Hour: 0, Model: "x", Requests: 1, Cost: 5, Agent: true},
		{Hour: 0, Model: "y", Requests: 1, Cost: 4}, {Hour: 3_600_000, Model: "x", Requests: 1, Cost: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
