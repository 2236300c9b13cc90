package simulate

import (
	"math/rand/v2"

	"cpor/detect/computation"
)

// RandomConfig describes random computations.
type RandomConfig struct {
	Processes int     // N
	Events    int     // events of all processes together
	Messages  float64 // the part of the events that send or receive
	Variables int     // of each process: x, y, ...
	Values    int     // integer variables take values 0..Values-1
	Assign    float64 // the probability that an event assigns a variable
	Undefined bool    // leave some variables undefined at first
}

var variableNames = []string{"x", "y", "z", "u", "v", "w"}

// Random returns a random computation with processes p1, p2, ..., whose variables are x, y, z,
// u, v, w, as many as requested: the first is a boolean, the others are integers.
func Random(rng *rand.Rand, cfg RandomConfig) *computation.Computation {
	r := NewRecorder(Names("p", cfg.Processes))
	value := func(v int) computation.Value {
		if v == 0 {
			return computation.BoolValue(rng.IntN(2) == 0)
		}
		return computation.IntValue(int64(rng.IntN(cfg.Values)))
	}
	for i := range cfg.Processes {
		for v := range cfg.Variables {
			if !cfg.Undefined || rng.IntN(4) > 0 {
				r.Init(i, Assign{variableNames[v], value(v)})
			}
		}
	}
	var flight []Message
	for range cfg.Events {
		i := rng.IntN(cfg.Processes)
		var assigns []Assign
		for v := range cfg.Variables {
			if rng.Float64() < cfg.Assign {
				assigns = append(assigns, Assign{variableNames[v], value(v)})
			}
		}
		switch {
		case rng.Float64() >= cfg.Messages:
			r.Event(i, "step", assigns...)
		case len(flight) > 0 && rng.IntN(2) == 0:
			k := rng.IntN(len(flight))
			r.Receive(i, flight[k], "receive", assigns...)
			flight = append(flight[:k], flight[k+1:]...)
		default:
			flight = append(flight, r.Send(i, "send", assigns...))
		}
	}
	return r.Computation()
}
