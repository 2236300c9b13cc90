package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"cpor/detect/computation"
	"cpor/detect/traces"
)

// Options say how to read a log.
type Options struct {
	// one of Formats; "" recognises it
	Format string `json:"format,omitempty"`
	// the parser of a ShiViz log; "" recognises the layout
	Regexp string `json:"regexp,omitempty"`
	// between executions; "" is what the file says
	Delimiter string `json:"delimiter,omitempty"`
	// finds assignments in event texts, with groups name and value; nil is the default
	Assign *regexp.Regexp `json:"assign,omitempty"`
	// repair what can be repaired
	Lenient bool `json:"lenient,omitempty"`
	// Ended is for a Decoder of a connection, which may break off: a last line
	// without its end is refused unless it is JSON, which has an end of its own.
	Ended bool `json:"-"`
}

// Formats are the names of the formats.
var Formats = []string{"shiviz", "jsonl", "otlp", "jaeger", "gotrace"}

// Execution is one run that a log recorded.
type Execution struct {
	*computation.Computation
	Repairs *computation.IssueList // what was repaired; never nil
	// lines that are not part of an event, of all executions; only with the first
	Ignored *Ignored
	// what else is to be known of all executions; only with the first
	Notes []string
}

// Ignored counts the lines that are not part of an event, as the ShiViz site
// ignores them.
type Ignored struct {
	Lines int
	First computation.Pos
	Text  string // of the first
}

// Input is a log to read.
type Input struct {
	Name string // for messages
	Data []byte
}

// ReadFiles reads the logs of one run, or of several; "-" is stdin. Many systems
// write a file for each process: the events of all files are put together,
// executions by their order and name.
func ReadFiles(paths []string, stdin io.Reader, opt Options) ([]Execution, error) {
	var inputs []Input
	for _, path := range paths {
		in := Input{Name: path}
		var err error
		if path == "-" {
			in.Name = "<stdin>"
			in.Data, err = io.ReadAll(stdin)
		} else {
			in.Data, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return Read(inputs, opt)
}

// Read reads logs; see ReadFiles. The error names the file and the line, and
// lists up to computation.MaxIssues mistakes.
func Read(inputs []Input, opt Options) ([]Execution, error) {
	b := &builders{opt: &opt, issues: &issueList{}}
	for _, in := range inputs {
		b.next = 0
		b.source = in.Name
		b.cur = nil
		b.begun = map[string]bool{}
		in.Data = bytes.TrimPrefix(in.Data, byteOrderMark)
		if err := b.read(in); err != nil {
			return nil, err
		}
	}
	if len(b.issues.list.Issues) > 0 && !opt.Lenient {
		return nil, &b.issues.list
	}
	var out []Execution
	for _, x := range b.all {
		if x.Len() == 0 && len(b.all) > 1 {
			continue // nothing before the first delimiter
		}
		c, repairs, err := x.Build(opt.Lenient)
		if err != nil {
			if errors.Is(err, computation.ErrEmpty) && len(inputs) == 1 {
				err = fmt.Errorf("%s: %w", inputs[0].Name, err)
			}
			return nil, err
		}
		out = append(out, Execution{Computation: c, Repairs: repairs})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", inputs[0].Name, computation.ErrEmpty)
	}
	// What was skipped while reading is reported with the first execution.
	first := out[0].Repairs
	first.Issues = append(b.issues.list.Issues, first.Issues...)
	first.More += b.issues.list.More
	first.Dropped += b.issues.list.Dropped
	out[0].Notes = b.notes
	if b.ignored.Lines > 0 {
		out[0].Ignored = &b.ignored
	}
	return out, nil
}

// read reads one log.
func (b *builders) read(in Input) error {
	opt := b.opt
	format := opt.Format
	if format == "" {
		format = recognise(in.Data)
	}
	var err error
	var notes []string
	if format != "shiviz" && (opt.Regexp != "" || opt.Delimiter != "") &&
		slices.Contains(Formats, format) {
		return fmt.Errorf("%s: a regular expression and a delimiter are for logs of "+
			"ShiViz, and its format is %s", in.Name, format)
	}
	switch format {
	case "shiviz":
		err = readShiViz(b, in.Data)
	case "jsonl":
		err = readJSONLines(b, in.Data)
	case "otlp":
		notes, err = traces.ReadOTLP(in.Data, b.builder())
	case "jaeger":
		notes, err = traces.ReadJaeger(in.Data, b.builder())
	case "gotrace":
		err = traces.ReadGoTrace(in.Data, b.builder())
	default:
		return fmt.Errorf("there is no log format %q; there are %s", format,
			strings.Join(Formats, ", "))
	}
	for _, n := range notes {
		b.notes = append(b.notes, in.Name+": "+n)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	return nil
}

type issueList struct{ list computation.IssueList }

func (l *issueList) add(source string, line int, format string, args ...any) {
	l.list.Add(computation.Pos{Source: source, Line: line}, format, args...)
}

// builders holds one builder for each execution.
type builders struct {
	opt    *Options
	issues *issueList
	all    []*computation.Builder
	next   int // the execution of this file that comes next
	source string
	cur    *computation.Builder
	begun  map[string]bool // the labels of this file's executions

	ignored Ignored
	notes   []string
}

// lost reports an event that cannot be read.
func (b *builders) lost(line int, format string, args ...any) {
	b.issues.add(b.source, line, format, args...)
	b.issues.list.Dropped++
}

// ignore counts a line that is not part of an event.
func (b *builders) ignore(line int, text []byte) {
	if b.ignored.Lines++; b.ignored.Lines == 1 {
		b.ignored.First = computation.Pos{Source: b.source, Line: line}
		b.ignored.Text = shorten(bytes.TrimSpace(text))
	}
}

// builder returns the builder of the current execution.
func (b *builders) builder() *computation.Builder {
	if b.cur == nil {
		b.start("", 0)
	}
	return b.cur
}

// start begins the next execution of the file, with that label, which is in the line.
func (b *builders) start(label string, line int) {
	if label != "" && b.begun[label] {
		b.issues.add(b.source, line, "execution %s begins twice", label)
	}
	b.begun[label] = true
	x := -1
	if label != "" {
		for i, o := range b.all {
			if o.Label() == label {
				x = i
			}
		}
	} else if b.next < len(b.all) && b.all[b.next].Label() == "" {
		x = b.next
	}
	if x < 0 {
		x = len(b.all)
		b.all = append(b.all, computation.NewBuilder(label))
	}
	b.next = x + 1
	b.cur = b.all[x]
	b.cur.Source(b.source)
}

func recognise(data []byte) string {
	begin := data[:min(len(data), 64<<10)]
	switch {
	case bytes.HasPrefix(data, []byte("go 1.")) && bytes.Contains(begin[:min(len(begin), 16)],
		[]byte(" trace\x00")):
		return "gotrace"
	case len(bytes.TrimSpace(begin)) > 0 && bytes.TrimSpace(begin)[0] == '{' &&
		bytes.Contains(begin, []byte(`"resourceSpans"`)):
		return "otlp"
	case len(bytes.TrimSpace(begin)) > 0 && bytes.TrimSpace(begin)[0] == '{' &&
		bytes.Contains(begin, []byte(`"traceID"`)) && bytes.Contains(begin, []byte(`"data"`)):
		return "jaeger"
	}
	for len(data) > 0 {
		line, rest := cutLine(data)
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			if line[0] == '{' && line[len(line)-1] == '}' &&
				(bytes.Contains(line, []byte(`"clock"`)) ||
					bytes.Contains(line, []byte(`"hosts"`)) ||
					bytes.Contains(line, []byte(`"init"`)) ||
					bytes.Contains(line, []byte(`"trace"`))) {
				return "jsonl"
			}
			return "shiviz"
		}
		data = rest
	}
	return "shiviz"
}

// cutLine returns the first line, without its end, and the rest.
func cutLine(data []byte) (line, rest []byte) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		line, rest = data[:i], data[i+1:]
	} else {
		line, rest = data, nil
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// compile compiles a regular expression as ShiViz means it.
func compile(expr string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		msg := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		if strings.Contains(expr, "(?=") || strings.Contains(expr, "(?!") ||
			strings.Contains(expr, "(?<=") || strings.Contains(expr, "(?<!") {
			msg += " (look-around is not supported)"
		}
		return nil, fmt.Errorf("regular expression %q: %s", expr, msg)
	}
	return re, nil
}
