package gotest

import (
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const reading = `package p

import (
	"testing"
	"time"
)

// It waits for nothing, however often it reads the clock.
func TestMeasures(t *testing.T) {
	start := time.Now()
	for range 200 {
		time.Now()
	}
	if time.Since(start) > time.Millisecond {
		t.Error("slow")
	}
}

func TestPolls(t *testing.T) {
	start := time.Now()
	for time.Since(start) < time.Millisecond {
	}
	t.Error("too late")
}

func TestEnds(t *testing.T) {
	start := time.Now()
	for time.Since(start) < time.Millisecond {
	}
}
`

// A test that measures how long a loop takes has not failed because time passes where a loop reads
// the clock; one that waits in such a loop ends, and fails if it is wrong.
func TestReadings(t *testing.T) {
	c := load(t, reading)
	for _, tt := range []struct {
		test     string
		time     gosrc.Time
		verdict  engine.Verdict
		readings int
	}{
		{"TestMeasures", "", engine.Pass, 0},
		{"TestMeasures", gosrc.AnyTime, engine.Violated, 0},
		{"TestPolls", "", engine.Violated, gosrc.ManyReadings},
		{"TestEnds", "", engine.Pass, 0},
	} {
		p, err := c.Test(tt.test, gosrc.Explore{Time: tt.time})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(t.Context(), p, Options{Workers: 1, Timeout: time.Minute})
		if err != nil || res.Verdict != tt.verdict {
			t.Errorf("%s, time %q: %+v, %v", tt.test, tt.time, res, err)
			continue
		}
		if res.Failure != nil && res.Program.Explore().Readings != tt.readings {
			t.Errorf("%s, time %q: %d readings", tt.test, tt.time, res.Program.Explore().Readings)
		}
		if slow := res.Slow != nil; slow != (tt.test == "TestMeasures" && tt.time == "") {
			t.Errorf("%s, time %q: slow: %+v", tt.test, tt.time, res.Slow)
		}
	}
}
