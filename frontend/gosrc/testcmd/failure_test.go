package testcmd

import (
	"testing"

	"cpor/gotest"
	"cpor/system"
)

func TestHeadline(t *testing.T) {
	at := system.Pos{File: "a_test.go", Line: 3}
	for _, tt := range []struct {
		kind          gotest.FailureKind
		message, want string
	}{
		{gotest.Failed, "want 1", "a_test.go:3: failed: want 1"},
		{gotest.Failed, "\n\tError Trace:\ta_test.go:3\n\tError:      \tNot equal", "a_test.go:3: failed: Error Trace:\ta_test.go:3\n\tError:      \tNot equal"},
		{gotest.Failed, " \r\n", "a_test.go:3: failed: "},
		{gotest.Panic, "panic: \nboom", "a_test.go:3: panic: \nboom"},
		{gotest.Exit, "\n\nos.Exit(2)", "a_test.go:3: os.Exit(2)"},
	} {
		if got := Headline(&gotest.Failure{Kind: tt.kind, Message: tt.message, Pos: at}); got != tt.want {
			t.Errorf("%s, %q: got %q, want %q", tt.kind, tt.message, got, tt.want)
		}
	}
}
