package model_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
)

// tryModel takes a text through the whole pipeline: it is refused with a
// message, or a bounded search of it ends.
func tryModel(t *testing.T, text string) {
	m, err := model.Parse("fuzz.model", text, model.Options{})
	if err != nil {
		if err.Error() == "" {
			t.Error("refused without a message")
		}
		return
	}
	sys := m.System()
	for _, f := range []search.Factory{full.Factory(sys), cartesianFactory(sys)} {
		_, err = search.Run(context.Background(), sys, f, search.Options{
			Options: engine.Options{Workers: 1, MaxStates: 200, Timeout: 2 * time.Second}})
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// FuzzText feeds random text to the pipeline.
func FuzzText(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.models")
	for _, file := range files {
		for _, c := range chunks(f, file) {
			f.Add(c.text)
		}
	}
	for _, name := range benchmarks.Names() {
		text, err := benchmarks.Model(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<14 {
			tryModel(t, text)
		}
	})
}

// FuzzGenerated feeds random valid models to the pipeline.
func FuzzGenerated(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(42))
	f.Fuzz(func(t *testing.T, seed uint64) {
		tryModel(t, oracle.Generate(seed, oracle.Everything))
	})
}
