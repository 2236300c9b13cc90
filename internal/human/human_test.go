package human

import (
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Size(0), "0 B"}, {Size(3 << 29), "1.5 GiB"},
		{Count(0), "0"}, {Count(-12), "-12"}, {Count(uint64(1 << 20)), "1,048,576"},
		{Plural(0, "line"), "0 lines"}, {Plural(1, "line"), "1 line"},
		{Plural(2000, "line"), "2,000 lines"},
		{Short(0), "0"}, {Short(9999), "9,999"}, {Short(10_000), "10.0k"}, {Short(980_277), "980k"},
		{Short(12_000_900), "12.0M"},
		{Clock(0), "0:00"}, {Clock(3599 * time.Second), "59:59"},
		{Clock(3665 * time.Second), "1:01:05"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1234: "1.23µs", 12345: "12.3µs", 1234567: "1.23ms",
		123456789:   "123.5ms",
		12345678912: "12.3s", 3*time.Hour + 1234567*time.Microsecond: "3h0m1.2s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
