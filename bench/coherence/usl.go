package coherence

import "math"

// Law is Gunther's universal scalability law ("A General Theory of Computational Scalability Based
// on Rational Functions", 2008): the speed-up with n workers is
//
//	n / (1 + Contention (n-1) + Coherence n (n-1))
//
// Contention is the share of the work that is done one after the other; it bounds the speed-up.
// Coherence is the cost of keeping two workers consistent; with it, speed-up falls after a peak.
type Law struct {
	Contention float64 `json:"contention"`
	Coherence  float64 `json:"coherence"`
}

// Speedup returns the speed-up with n workers.
func (l Law) Speedup(n int) float64 {
	x := float64(n)
	return x / (1 + l.Contention*(x-1) + l.Coherence*x*(x-1))
}

// Peak returns the number of workers with the highest speed-up; 0 if it grows forever.
func (l Law) Peak() int {
	if l.Coherence <= 0 {
		return 0
	}
	return max(1, int(math.Round(math.Sqrt(max(0, 1-l.Contention)/l.Coherence))))
}

// Fit returns the law that is nearest to speed-ups over 1 by numbers of workers, by least squares
// of the relative differences between n/speed-up and the law's denominator. Its coefficients are
// not negative.
func Fit(speedups map[int]float64) Law {
	// With y = n/s - 1 = a u + b v, where u = n-1 and v = n(n-1), and the weight s/n.
	var uu, uv, vv, uy, vy float64
	for n, s := range speedups {
		if n < 2 || s <= 0 {
			continue
		}
		w := s / float64(n)
		u, v, y := w*float64(n-1), w*float64(n)*float64(n-1), 1-w
		uu, uv, vv, uy, vy = uu+u*u, uv+u*v, vv+v*v, uy+u*y, vy+v*y
	}
	if uu == 0 {
		return Law{}
	}
	alone := Law{Contention: max(0, uy/uu)}
	det := uu*vv - uv*uv
	if det <= 1e-12*uu*vv {
		return alone
	}
	l := Law{(uy*vv - vy*uv) / det, (vy*uu - uy*uv) / det}
	switch {
	case l.Coherence < 0:
		return alone
	case l.Contention < 0:
		return Law{Coherence: max(0, vy/vv)}
	}
	return l
}
