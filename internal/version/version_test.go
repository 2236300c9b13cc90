package version

import "testing"

// TestRelease takes what make release sets before what the Go tool recorded.
func TestRelease(t *testing.T) {
	defer func() { release, commit, day = "", "", "" }()
	release, commit, day = "v1.2.0", "0123456789ab+", "2026-01-02"
	if s := String(); s != "v1.2.0" {
		t.Errorf("version %s", s)
	}
	if c, d := Commit(); c != commit || d != day {
		t.Errorf("commit %s of %s", c, d)
	}
	if b, exact := Build(); b == "" || !exact {
		t.Errorf("this program is %q, exactly: %v", b, exact)
	}
}
