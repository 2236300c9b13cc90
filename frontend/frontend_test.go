package frontend

import (
	"errors"
	"strings"
	"testing"

	"cpor/frontend/source"
)

func TestRegistry(t *testing.T) {
	defer func(old []FrontEnd) { frontEnds = old }(frontEnds)
	frontEnds = nil
	load := func(name string) error {
		_, err := Read(name, strings.NewReader(""), Options{})
		return err
	}
	if err := load("x.toy"); err == nil {
		t.Error("loaded without a front end")
	}
	no := errors.New("a toy")
	Register(FrontEnd{Name: "toys", Extensions: []string{".toy"},
		Load: func(*source.File, Options) (*Program, error) { return nil, no }})
	Register(FrontEnd{Name: "all", Extensions: []string{".all"}, Default: true,
		Load: func(*source.File, Options) (*Program, error) { return &Program{}, nil }})
	if err := load("a/x.TOY"); err != no {
		t.Errorf("x.TOY: %v", err)
	}
	for _, name := range []string{"x.all", "x", "x.other"} {
		if err := load(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an extension was registered twice")
		}
	}()
	Register(FrontEnd{Name: "more toys", Extensions: []string{".toy"}})
}
