package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
)

// profileMode is a value of -profile.
type profileMode struct {
	name   string
	start  func(*os.File) (stop func() error, err error)
	file   string
	viewer string
}

// The profiles are those of the standard library itself: a library around them brings others,
// whose tables every start of the program would wait for.
var profileModes = []profileMode{
	{"cpu", cpuProfile, "cpu.pprof", "go tool pprof -http=:"},
	{"mem", memProfile, "mem.pprof", "go tool pprof -http=:"},
	{"mutex", mutexProfile, "mutex.pprof", "go tool pprof -http=:"},
	{"block", blockProfile, "block.pprof", "go tool pprof -http=:"},
	{"trace", traceProfile, "trace.out", "go tool trace"},
}

func cpuProfile(f *os.File) (func() error, error) {
	return func() error { pprof.StopCPUProfile(); return nil }, pprof.StartCPUProfile(f)
}

func traceProfile(f *os.File) (func() error, error) {
	return func() error { trace.Stop(); return nil }, trace.Start(f)
}

func memProfile(f *os.File) (func() error, error) {
	old := runtime.MemProfileRate
	runtime.MemProfileRate = 4096 // bytes
	return func() error {
		err := pprof.Lookup("heap").WriteTo(f, 0)
		runtime.MemProfileRate = old
		return err
	}, nil
}

func mutexProfile(f *os.File) (func() error, error) {
	old := runtime.SetMutexProfileFraction(1)
	return func() error {
		err := pprof.Lookup("mutex").WriteTo(f, 0)
		runtime.SetMutexProfileFraction(old)
		return err
	}, nil
}

func blockProfile(f *os.File) (func() error, error) {
	runtime.SetBlockProfileRate(1)
	return func() error {
		err := pprof.Lookup("block").WriteTo(f, 0)
		runtime.SetBlockProfileRate(0)
		return err
	}, nil
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
func startProfile(name string) (stop func() (string, error), err error) {
	m := lookupProfile(name)
	f, err := os.Create(m.file)
	if err != nil {
		return nil, pathError(err)
	}
	end, err := m.start(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() (string, error) {
		err := end()
		return m.file, errors.Join(err, f.Close())
	}, nil
}

func profileViewer(name, file string) string { return lookupProfile(name).viewer + " " + file }
