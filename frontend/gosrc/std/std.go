// Package std says how each package of the standard library is explored, and contains the
// declarations that replace those of GOROOT. They are Go files in the folder files, by import
// path. A declaration there replaces the one of the same name. The machine implements functions
// without a body.
package std

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Mode is how a package is treated.
type Mode uint8

const (
	// Full: interpreted from its source, with our replacements. Packages of the user are Full,
	// too.
	Full Mode = iota
	// Stub: only our declarations have bodies. All others can be named, and are
	// refused when they are called.
	Stub
	// Whole: nothing is read from GOROOT.
	Whole
)

// Prefix begins the names of our files in positions.
const Prefix = "$std/"

// Check is the package of this module that tests import to explore themselves: explored tests
// get our replacement.
const Check = "cpor/check"

// Shared reports whether a file of Check is also that of explored tests: they get its other
// declarations from us.
func Shared(name string) bool {
	return slices.Contains([]string{"config.go", "history.go", "linearizable.go",
		"progress.go", "scenario.go"}, name)
}

// checkFolder holds our files of Check, whatever the module is called.
const checkFolder = "files/cpor/check"

// Always are the packages that every program has.
var Always = []string{"internal/cpor", "runtime"}

// full are the packages of Mode Full. Only Go programs need them.
var full = sync.OnceValue(func() map[string]bool {
	full := map[string]bool{}
	for p := range bodies {
		full[p] = true
	}
	for _, p := range strings.Fields(`
		bufio bytes cmp compress/bzip2 compress/flate compress/gzip compress/lzw compress/zlib container/heap container/list container/ring
		context crypto crypto/internal/randutil flag database/sql database/sql/driver embed errors
		encoding encoding/ascii85 encoding/asn1 encoding/base32 encoding/base64 encoding/binary encoding/csv encoding/gob encoding/hex
		encoding/json encoding/pem encoding/xml fmt
		hash hash/adler32 hash/crc32 hash/crc64 hash/fnv internal/chacha8rand internal/testhash
		html html/template index/suffixarray io io/fs io/ioutil iter internal/bisect internal/byteorder internal/filepathlite internal/fmtsort internal/itoa internal/oserror internal/saferio internal/strconv
		internal/stringslite log/internal log/slog log/slog/internal log/slog/internal/buffer
		maps math math/big math/bits net/netip net/url net/http net/http/httptest net/http/internal net/http/internal/ascii net/http/internal/httpcommon net/http/httptrace net/http/cookiejar net/http/httputil net/http/internal/testcert net/mail net/rpc net/rpc/jsonrpc net/smtp net/textproto go/token mime mime/multipart mime/quotedprintable vendor/golang.org/x/net/http/httpguts vendor/golang.org/x/net/http/httpproxy vendor/golang.org/x/text/unicode/norm vendor/golang.org/x/text/unicode/bidi vendor/golang.org/x/text/secure/bidirule vendor/golang.org/x/text/transform vendor/golang.org/x/net/idna vendor/golang.org/x/net/http2/hpack math/cmplx math/rand math/rand/v2 path path/filepath reflect regexp regexp/syntax runtime/debug
		slices sort strconv strings text/scanner testing/fstest testing/slogtest archive/tar archive/zip go/ast go/build/constraint go/constant go/doc/comment go/format go/parser go/printer go/scanner go/token internal/lazyregexp image image/color image/color/palette image/draw image/gif image/internal/imageutil image/jpeg image/png go/internal/scannerhooks expvar net/mail net/http/cookiejar structs testing/iotest testing/quick text/tabwriter text/template text/template/parse time unicode unicode/utf16 unicode/utf8
	`) {
		full[p] = true
	}
	return full
})

var whole = map[string]bool{
	"internal/cpor": true, "internal/cpor/data": true,
	"runtime": true, "internal/godebug": true, "internal/bytealg": true, "log": true,
	"sync/atomic": true,
	"testing":     true, "testing/synctest": true, "unique": true, "os/signal": true,
	Check: true, "internal/reflectlite": true, "sync": true,
	"crypto/rand": true, "hash/maphash": true,
	"weak": true,
}

// ModeOf returns how the package of that import path is treated.
func ModeOf(path string) Mode {
	switch {
	case whole[path]:
		return Whole
	case full()[path]:
		return Full
	}
	return Stub
}

// dropped are the files that are not read: their content is omitted or replaced.
var dropped = map[string]bool{
	"time/sleep.go": true, "time/tick.go": true, "time/sys_unix.go": true,
	"time/sys_windows.go":   true,
	"time/zoneinfo_unix.go": true, "time/zoneinfo_windows.go": true,
	"time/zoneinfo_goroot.go": true,
	"time/embed.go":           true,
}

// only are the files that are read of packages that are mostly replaced.
var only = map[string]string{"fmt": "scan.go", "reflect": "visiblefields.go"}

// Dropped reports whether a file of a package of GOROOT is left out.
func Dropped(pkg, name string) bool {
	if file, ok := only[pkg]; ok {
		return name != file
	}
	return dropped[pkg+"/"+name]
}

// Unimported reports whether an import of a package of GOROOT is removed: we declare what is
// used of it.
func Unimported(pkg, path string) bool { return pkg == "fmt" && path == "os" }

// Tags are the build tags for packages of GOROOT: without assembly.
var Tags = []string{"purego", "math_big_pure_go"}

// UserTags are build tags that are set besides the user's: modules with a pure Go version, or
// one without package unsafe, select it by these.
var UserTags = []string{"purego", "disableunsafe", "math_big_pure_go"}

// Instead returns the name that replaces a name of an imported package in a package of GOROOT,
// "" if none does. Pools become [LostPool]s, which lose what they are given. A server of package
// httptest has a timer that makes it report what it waits for, which would only multiply the
// schedules.
func Instead(pkg, imported, name string) string {
	switch {
	case imported == "sync" && name == "Pool":
		return LostPool
	case pkg == "net/http/httptest" && imported == "time" && name == "AfterFunc":
		return "NeverFunc"
	}
	return ""
}

// LostPool is the type of package sync that takes the place of sync.Pool in packages of GOROOT:
// it loses what it is given, as a pool may. So calls of the library do not depend on each other
// through caches.
const LostPool = "LostPool"

// Testable reports whether a package of GOROOT keeps our replacements when its own tests are
// explored.
func Testable(pkg string) bool {
	return pkg != "" && !strings.Contains(pkg, ".") && ModeOf(pkg) != Stub
}

// bodies are the interpreted files of packages of which only a part is interpreted: the
// functions of the other files lose their bodies.
var bodies = map[string]string{
	"net": "pipe.go net.go loopback.go ip.go ipsock.go ipsock_posix.go parse.go mac.go port.go " +
		"dial.go error_posix.go error_unix.go error_windows.go lookup.go tcpsock.go " +
		"tcpsock_posix.go udpsock.go udpsock_posix.go unixsock.go unixsock_posix.go",
	"internal/poll": "fd.go",
}

// Kept reports whether the functions of a file of a package keep their bodies.
func Kept(pkg, name string) bool {
	files, part := bodies[pkg]
	return ModeOf(pkg) != Stub && (!part || slices.Contains(strings.Fields(files), name))
}

// Zero reports whether the variables of a package that is not interpreted are zero: there are no
// special instructions of the processor.
func Zero(pkg string) bool { return pkg == "internal/cpu" }

// File is a file of ours.
type File struct{ Name, Text string }

//go:embed all:files
var files embed.FS

// Files returns our files of a package.
func Files(pkg string) []File {
	dir := path.Join("files", pkg)
	if pkg == Check {
		dir = checkFolder
	}
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil
	}
	var out []File
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := files.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			panic(err) // the file system is part of the binary
		}
		// The files end in .go.txt, so that the go command does not take them
		// for packages of this module.
		out = append(out, File{Name: path.Join(pkg, strings.TrimSuffix(e.Name(), ".txt")),
			Text: string(text)})
	}
	return out
}
