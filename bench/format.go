package bench

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// duration formats a time with three digits: 12.3ms, 1.23s, 2.5min.
func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0"
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + "µs"
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + "ms"
	case d < 100*time.Second:
		return digits(d.Seconds()) + "s"
	}
	return digits(d.Minutes()) + "min"
}

// digits formats a number with three significant digits and no exponent.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 0.9995 || a == 0:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// short formats a count in few places: 980277, 7.10M.
func short(x float64) string {
	switch {
	case x >= 1e9:
		return digits(x/1e9) + "G"
	case x >= 1e6:
		return digits(x/1e6) + "M"
	case x >= 1e4:
		return digits(x/1e3) + "k"
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// count formats a count exactly.
func count(n uint64) string { return strconv.FormatUint(n, 10) }

// percent formats a share of 100 with one place.
func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }

// times formats a factor: 1.94.
func times(x float64) string { return digits(x) }
