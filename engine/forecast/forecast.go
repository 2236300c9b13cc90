// Package forecast estimates how long a running search still takes, for all that show its
// progress.
package forecast

import (
	"fmt"
	"math"
	"time"

	"cpor/engine"
	"cpor/internal/human"
)

// Forecast estimates how far a search with stored states is. Its work set grows fast at
// first and ever more slowly, has its most about in the middle, and is empty in the end:
// over the number of covered states it is close to a parabola, whose second zero is the number
// of states that there will be. The parabola is fitted by least squares to the last three
// quarters of the way.
//
// It is a guess, and none is made before the growth has slowed down so far that two fifths of
// the way are done by it: earlier ones were wrong by up to a factor of four. docs/performance.md
// says how good they were behind that, and TestMeasure measures it.
//
// The zero value is ready for use.
type Forecast struct {
	points []point
	every  int // of how many reports one is kept
	skip   int
}

// point is the work set at a number of states.
type point struct{ states, queued float64 }

// mostPoints bounds the points that are kept; half of them go when there are as many.
const mostPoints = 512

// add takes a report, and tells the part that is done, from 0 to 1; ok is false if the end is
// not in sight.
func (f *Forecast) add(s engine.Progress) (part float64, ok bool) {
	if f.skip++; f.skip > f.every {
		f.skip = 0
		f.points = append(f.points, point{float64(s.States), float64(s.Queued)})
	}
	if len(f.points) == mostPoints {
		for i := range mostPoints / 2 {
			f.points[i] = f.points[2*i+1]
		}
		f.points = f.points[:mostPoints/2]
		f.every = 2*f.every + 1
	}
	now := float64(s.States)
	var xs, ys []float64
	for _, p := range f.points {
		if x := p.states / now; x > 0.25 {
			xs, ys = append(xs, x), append(ys, p.queued)
		}
	}
	const fewest = 8
	if len(xs) < fewest {
		return 0, false
	}
	// Where c0 + c1 x + c2 x² comes down to 0; x is 1 now.
	end, ok := zero(parabola(xs, ys))
	if !ok || end <= 1 || end > 2.5 {
		return 0, false
	}
	return 1 / end, true
}

// Tell takes a report of a search that counts so much, and says how it will continue in words; ok
// is false if it says that there is no forecast, or none yet.
func (f *Forecast) Tell(s engine.Progress, counts engine.CounterSet) (text string, ok bool) {
	switch part, ok := f.add(s); {
	case ok:
		left := time.Duration(float64(s.Elapsed) * (1 - part) / part)
		return fmt.Sprintf("about %.0f%%, %s left", 100*part, human.Clock(left)), true
	case counts&engine.CountStates != 0 && s.Queued > 0:
		return "no forecast yet", false
	}
	// Executions, events and the product with an automaton have no work set that tells.
	return "no forecast", false
}

// zero returns where a parabola that is open below comes down to 0.
func zero(c0, c1, c2 float64) (x float64, ok bool) {
	if d := c1*c1 - 4*c0*c2; c2 < 0 && d >= 0 {
		return (-c1 - math.Sqrt(d)) / (2 * c2), true
	}
	return 0, false
}

// parabola fits c0 + c1 x + c2 x² to points by least squares. It projects the values on the
// polynomials 1, p and q of degree 0, 1 and 2 that are orthogonal on the points (Forsythe 1957),
// so that there is no system of equations to solve: a library for that would be the largest
// one in the program. If fewer than three points differ, the result is not a number.
func parabola(xs, ys []float64) (c0, c1, c2 float64) {
	var sx, sy float64
	for i, x := range xs {
		sx, sy = sx+x, sy+ys[i]
	}
	n := float64(len(xs))
	mean := sx / n // p(x) = x - mean
	var pp, ppx, py float64
	for i, x := range xs {
		p := x - mean
		pp, ppx, py = pp+p*p, ppx+p*p*x, py+p*ys[i]
	}
	a, b := ppx/pp, pp/n // q(x) = (x - a) p(x) - b
	var qq, qy float64
	for i, x := range xs {
		q := (x-a)*(x-mean) - b
		qq, qy = qq+q*q, qy+q*ys[i]
	}
	u, v, w := sy/n, py/pp, qy/qq
	return u - v*mean + w*(a*mean-b), v - w*(a+mean), w
}
