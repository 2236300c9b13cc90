package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
)

// profileMode is a value of -profile.
type profileMode struct {
	name   string
	file   string
	viewer string
	start  func(io.Writer) error
	stop   func(io.Writer) error
}

// profileModes use the standard library: github.com/pkg/profile would bring a web server along,
// which takes longer to compile than the searches.
var profileModes = []profileMode{
	{"cpu", "cpu.pprof", "go tool pprof -http=:", pprof.StartCPUProfile,
		func(io.Writer) error { pprof.StopCPUProfile(); return nil }},
	{"mem", "mem.pprof", "go tool pprof -http=:", nothing, func(w io.Writer) error {
		runtime.GC() // so that the profile is up to date
		return pprof.Lookup("heap").WriteTo(w, 0)
	}},
	{"mutex", "mutex.pprof", "go tool pprof -http=:",
		func(io.Writer) error { runtime.SetMutexProfileFraction(1); return nil },
		func(w io.Writer) error {
			defer runtime.SetMutexProfileFraction(0)
			return pprof.Lookup("mutex").WriteTo(w, 0)
		}},
	{"block", "block.pprof", "go tool pprof -http=:",
		func(io.Writer) error { runtime.SetBlockProfileRate(1); return nil },
		func(w io.Writer) error {
			defer runtime.SetBlockProfileRate(0)
			return pprof.Lookup("block").WriteTo(w, 0)
		}},
	{"trace", "trace.out", "go tool trace", trace.Start,
		func(io.Writer) error { trace.Stop(); return nil }},
}

func nothing(io.Writer) error { return nil }

func profileNames() []string {
	var names []string
	for _, m := range profileModes {
		names = append(names, m.name)
	}
	return names
}

func checkProfile(name string) error {
	for _, m := range profileModes {
		if m.name == name {
			return nil
		}
	}
	return fmt.Errorf("unknown profile; want %s", strings.Join(profileNames(), ", "))
}

func lookupProfile(name string) profileMode {
	for _, m := range profileModes {
		if m.name == name {
			return m
		}
	}
	return profileMode{}
}

// startProfile starts a profile. The function that it returns writes it to a file in the working
// directory, and returns the file's name.
func startProfile(name string) (stop func() (string, error), err error) {
	m := lookupProfile(name)
	f, err := os.Create(m.file)
	if err != nil {
		return nil, pathError(err)
	}
	if err := m.start(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() (string, error) { return m.file, errors.Join(m.stop(f), f.Close()) }, nil
}

func profileViewer(name, file string) string { return lookupProfile(name).viewer + " " + file }
