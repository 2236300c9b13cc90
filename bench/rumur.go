package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"cpor/benchmarks"
)

// rumur drives Rumur, a checker of Murphi's language (Fernandez): it makes C of a
// model, which is compiled to a verifier of that model.
type rumur struct {
	rumur string // path of the program
	cc    string // path of a C compiler
	dir   string // for everything it writes; removed by close
}

// findRumur looks for Rumur and a C compiler on the PATH. The error says what is
// missing and how to get it.
func findRumur() (*rumur, error) {
	path, err := exec.LookPath("rumur")
	if err != nil {
		return nil, errors.New("rumur is not on the PATH (on Debian: apt-get install rumur)")
	}
	cc := findCC()
	if cc == "" {
		return nil, errors.New("there is rumur, but no C compiler on the PATH (on Debian: " +
			"apt-get install gcc)")
	}
	dir, err := os.MkdirTemp("", "cpor-bench-rumur-")
	return &rumur{path, cc, dir}, err
}

func (r *rumur) close() error { return os.RemoveAll(r.dir) }

// build makes a verifier with so many threads and returns its path. Murphi's constants
// are in the text: those of ps are put there. All values are computed with 32
// bits, as the model's are with more than the eight that Rumur would choose.
func (r *rumur) build(ctx context.Context, model string, ps benchmarks.Params, threads int) (string,
	error) {
	text, err := benchmarks.Murphi(model)
	if err != nil {
		return "", err
	}
	for _, p := range ps {
		re := regexp.MustCompile(`(?m)^((?:const)?\s*` + regexp.QuoteMeta(p.Name) + `:\s*)[0-9]+;`)
		if !re.Match(text) {
			return "", fmt.Errorf("%s.m has no constant %s", model, p.Name)
		}
		text = re.ReplaceAll(text, []byte("${1}"+p.Value+";"))
	}
	dir, err := os.MkdirTemp(r.dir, model+"-")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, model+".m"), text, 0o666); err != nil {
		return "", err
	}
	_, stdout, stderr, err := execute(ctx, dir, r.rumur, "--deadlock-detection", "off", "--threads",
		strconv.Itoa(threads),
		"--value-type", "int32_t", "--output-format", "machine-readable", "--output", model+".c",
		model+".m")
	if err != nil {
		return "", fmt.Errorf("rumur: %s", lastLine(append(stdout, stderr...)))
	}
	// Two words are exchanged at once where the processor can do that.
	args := []string{"-O3", "-w", "-march=native", "-o", "verify", model + ".c", "-lpthread"}
	if _, _, _, err = execute(ctx, dir, r.cc, append(args, "-mcx16")...); err != nil {
		if _, _, stderr, err = execute(ctx, dir, r.cc, args...); err != nil {
			return "", fmt.Errorf("%s: %v: %s", r.cc, err, lastLine(stderr))
		}
	}
	return filepath.Join(dir, "verify"), nil
}

// runRumur runs a verifier. Its own clock knows seconds only, so its time is that of
// the process.
func runRumur(ctx context.Context, path string) Outcome {
	out, stdout, stderr, err := execute(ctx, filepath.Dir(path), path)
	if out.Status == Interrupted {
		return out
	}
	parsed, perr := parseRumur(stdout)
	if perr != nil {
		out.Status, out.Reason = Failed, fmt.Sprintf("%v: %s (%v)", perr,
			lastLine(append(stdout, stderr...)), err)
		return out
	}
	parsed.Wall, parsed.CPU, parsed.PeakRSS, parsed.Search = out.Wall, out.CPU, out.PeakRSS,
		out.Wall
	return parsed
}

var rumurSummary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<summary states="([0-9]+)" rules_fired="([0-9]+)" errors="([0-9]+)"`)
})

// parseRumur reads what a verifier printed.
func parseRumur(b []byte) (Outcome, error) {
	m := rumurSummary().FindSubmatch(b)
	if m == nil {
		return Outcome{}, errors.New("no summary in what Rumur's verifier printed")
	}
	var o Outcome
	o.States, _ = strconv.ParseUint(string(m[1]), 10, 64)
	o.Transitions, _ = strconv.ParseUint(string(m[2]), 10, 64)
	o.Status = Done
	if string(m[3]) != "0" {
		o.Status, o.Reason = Failed, "Rumur found an error"
	}
	return o, nil
}
