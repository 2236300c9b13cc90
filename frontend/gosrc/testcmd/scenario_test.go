package testcmd

import (
	"os"
	"path/filepath"
	"testing"

	"cpor/frontend/gosrc/gotest"
	"cpor/system"
	"cpor/trace"
)

func TestAddTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"broken_test.go": "package", "a_test.go": `package a

// TestOne is one.
func TestOne(t *testing.T) {
	check.Linearizable(t, New, check.Op("Put", (*T).Put), // puts
		check.Op("Get", (*T).Get))
}

func TestTwo(t *testing.T) {
	t.Run("a", func(t *testing.T) { check.Linearizable(t, New) })
	t.Run("b", func(t *testing.T) { check.Linearizable[*T](t, New) })
}

func TestHelper(t *testing.T) { helper(t) }

func TestOnly(t *testing.T) { check.Linearizable(t, New, check.Only("Put(1)")) }

func TestDot(t *testing.T) { Linearizable(t, New) }
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		test     string
		line     int
		scenario string
		want     string
	}{
		{"TestOne", 5, "Put(1) || Get()", `func TestOneScenario(t *testing.T) {
	check.Linearizable(t, New, check.Op("Put", (*T).Put),
		check.Op("Get", (*T).Get),
		check.Only(` + "`Put(1) || Get()`" + `))
}`},
		{"TestTwo", 11, "Put(1)", `func TestTwoScenario(t *testing.T) {
	t.Run("a", func(t *testing.T) { check.Linearizable(t, New) })
	t.Run("b", func(t *testing.T) {
		check.Linearizable[*T](t, New,
			check.Only(` + "`Put(1)`" + `))
	})
}`},
		{"TestTwo", 99, "Put(1)", ""},
		{"TestHelper", 14, "Put(1)", ""},
		{"TestOnly", 16, "Put(1)", ""},
		{"TestDot", 18, "Put(1)", `func TestDotScenario(t *testing.T) {
	Linearizable(t, New,
		Only(` + "`Put(1)`" + `))
}`},
		{"TestOne", 5, "Put(\"`\")", ""},
		{"TestNone", 5, "Put(1)", ""},
	} {
		f := &gotest.Failure{Pos: system.Pos{Line: tt.line},
			History: &trace.History{Scenario: tt.scenario}}
		AddTest(f, dir, tt.test)
		if f.History.Test != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.test, f.History.Test, tt.want)
		}
	}
	AddTest(&gotest.Failure{}, dir, "TestOne") // without a history there is none
}
