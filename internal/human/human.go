// Package human prints sizes, counts and times for people, the same everywhere.
// Sizes and separators are go-humanize's; times are not, which has only points in
// time in words ("3 minutes ago").
package human

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// integer is any number that counts something.
type integer interface {
	~int | ~int64 | ~uint64
}

// Size returns a number of bytes with a binary unit: 1.5 GiB.
func Size(bytes uint64) string { return humanize.IBytes(bytes) }

// Count returns a number exactly, with separators: 1,048,576.
func Count[N integer](n N) string { return humanize.Comma(int64(n)) }

// Plural returns a number of things: 1 line, 2,000 lines.
func Plural[N integer](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(n) + " " + what + "s"
}

// Short returns a number with at most four digits and an SI prefix: 980k.
func Short(n uint64) string {
	if n < 10_000 {
		return Count(n)
	}
	v, prefix := humanize.ComputeSI(float64(n))
	if v < 100 {
		return fmt.Sprintf("%.1f%s", v, prefix)
	}
	return fmt.Sprintf("%.0f%s", v, prefix)
}

// Duration rounds a duration to three digits or so: 12.3ms, 1.23s, 2m3.4s.
func Duration(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit / 10).String()
		}
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// Clock returns a time as m:ss or h:mm:ss.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
