package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/profile"
)

// profileMode is a value of -profile.
type profileMode struct {
	name   string
	option func(*profile.Profile)
	file   string // as pkg/profile names it
	viewer string
}

var profileModes = []profileMode{
	{"cpu", profile.CPUProfile, "cpu.pprof", "go tool pprof -http=:"},
	{"mem", profile.MemProfile, "mem.pprof", "go tool pprof -http=:"},
	{"mutex", profile.MutexProfile, "mutex.pprof", "go tool pprof -http=:"},
	{"block", profile.BlockProfile, "block.pprof", "go tool pprof -http=:"},
	{"trace", profile.TraceProfile, "trace.out", "go tool trace"},
}

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

// startProfile starts a profile, written to a file in the working directory
// when stop is called, which returns the file's name.
func startProfile(name string) (stop func() string, err error) {
	m := lookupProfile(name)
	// The library ends the process where it cannot write, with the exit code
	// that means a violation here; so that is tried first.
	f, err := os.Create(m.file)
	if err != nil {
		return nil, pathError(err)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	p := profile.Start(m.option, profile.ProfilePath("."), profile.NoShutdownHook, profile.Quiet)
	return func() string {
		p.Stop()
		return m.file
	}, nil
}

func profileViewer(name, file string) string { return lookupProfile(name).viewer + " " + file }
