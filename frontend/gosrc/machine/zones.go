package machine

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// zones are the requested time zones, from files of the Go installation or the system.
type zones struct {
	mu    sync.Mutex
	known map[string]string
	seen  *Seen
}

// systemZones are where systems keep time zones, as in package time.
var systemZones = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ",
	"/etc/zoneinfo"}

// data returns the text that a zone is read from. Installed reports whether there are any. The
// Go installation comes first, so a program behaves the same on all machines.
func (z *zones) data(goroot, name string) (text string, found, installed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if text, ok := z.known[name]; ok {
		return text, true, true
	}
	defer func() {
		z.seen.add(Fact{How: seenZone, Path: name, Root: goroot, Sum: sum(text, found, installed)})
	}()
	var folders []fs.FS
	if r, err := zip.OpenReader(filepath.Join(goroot, "lib", "time", "zoneinfo.zip")); err == nil {
		defer r.Close()
		folders = append(folders, r)
	}
	for _, dir := range systemZones {
		if _, err := os.Stat(dir); err == nil {
			folders = append(folders, os.DirFS(dir))
		}
	}
	for _, dir := range folders {
		f, err := dir.Open(name)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(f)
		f.Close()
		if err != nil { // a folder
			continue
		}
		if z.known == nil {
			z.known = map[string]string{}
		}
		z.known[name] = string(b)
		return string(b), true, true
	}
	return "", false, len(folders) > 0
}
