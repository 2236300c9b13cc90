package benchmarks

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
)

func TestLockModels(t *testing.T) {
	files, err := fs.Glob(lockFS, "locks/*.model")
	if err != nil || len(files) != len(LockNames()) {
		t.Errorf("%d models embedded, %d named, %v", len(files), len(LockNames()), err)
	}
	for _, name := range LockNames() {
		if _, err := LockModel(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "nix", "../robots"} {
		if _, err := LockModel(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestStollerFigure4(t *testing.T) {
	rows := StollerFigure4()
	if len(rows) != 12 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.States == 0 || r.Megabytes <= 0 || r.Seconds <= 0 || !slices.Contains(LockNames(),
			r.Benchmark) {
			t.Errorf("%+v", r)
		}
	}
}
