package model_test

import (
	"reflect"
	"testing"

	"cpor/frontend/model"
)

// TestParams looks at the values of parameters: those of an enumeration have names, and
// what is reported can be given again.
func TestParams(t *testing.T) {
	text := `
type Color uint2
const (
	Red Color = iota
	Green
)
const First, N, Fair = Green, 3, true
const Odd Color = 3
thread T() { skip }
init { go T() }
`
	for _, test := range []struct {
		given map[string]string
		want  map[string]any
	}{
		{nil, map[string]any{"First": "Green", "N": int64(3), "Fair": true, "Odd": int64(3)}},
		{map[string]string{"First": "Red", "Odd": "1"}, map[string]any{"First": "Red",
			"N": int64(3), "Fair": true, "Odd": "Green"}},
	} {
		m, err := model.Parse("test.model", text, model.Options{Params: test.given})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Params(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("with %v: %v, want %v", test.given, got, test.want)
		}
	}
}
