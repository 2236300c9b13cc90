package detectcmd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listening reads the addresses that the command says it listens on.
func listening(t *testing.T, stderr io.Reader, n int) []string {
	t.Helper()
	var out []string
	in := bufio.NewScanner(stderr)
	for len(out) < n && in.Scan() {
		out = append(out, in.Text()[strings.LastIndexAny(in.Text(), " /")+1:])
	}
	go io.Copy(io.Discard, stderr)
	return out
}

// TestMonitorServes: clients over TCP and HTTP at the same time, a detection,
// and an interruption.
func TestMonitorServes(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	start := func(ctx context.Context, args ...string) (addrs []string, stdout *bytes.Buffer,
		code chan int) {
		r, w := io.Pipe()
		stdout = &bytes.Buffer{}
		code = make(chan int, 1)
		args = append(args, "-poss", "p1.x && p2.x", "-tcp", "127.0.0.1:0", "-http", "127.0.0.1:0",
			"-journal", journal)
		go func() { code <- Monitor(ctx, nil, args, strings.NewReader(""), stdout, w); w.Close() }()
		return listening(t, r, 2), stdout, code
	}
	send := func(addr, line string) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintln(conn, line)
		if reply, err := bufio.NewReader(conn).ReadString('\n'); err != nil || reply != "ok 1\n" {
			t.Fatalf("%q %v", reply, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	addrs, stdout, code := start(ctx)
	send(addrs[0], `{"host":"p1","clock":{"p1":1},"vars":{"x":true}}`)
	cancel()
	if c := <-code; c != exitIncomplete || !strings.Contains(stdout.String(),
		"not detected so far\n1 events") {
		t.Errorf("interrupted: code %d, %s", c, stdout)
	}
	addrs, stdout, code = start(context.Background())
	resp, err := http.Post("http://"+addrs[1]+"/events", "",
		strings.NewReader(`{"host":"p2","clock":{"p2":1},"vars":{"x":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(body), `"accepted":1`) {
		t.Errorf("%s", body)
	}
	if c := <-code; c != exitAlarm || !strings.HasPrefix(stdout.String(),
		"possibly: yes, after 2 events") {
		t.Errorf("code %d, %s", c, stdout)
	}
}

// TestKilled: a monitor that is killed at any time has in its journal what it
// acknowledged, and takes the rest when it is started again.
func TestKilled(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	const events = 12_000
	acknowledged := 0
	for round := 0; acknowledged < events; round++ {
		cmd := exec.Command(os.Args[0], "monitor", "-poss", "p1.x && p2.x", "-tcp", "127.0.0.1:0",
			"-journal", journal, "-journal-limit", "20KiB")
		cmd.Env = append(os.Environ(), "CPOR_CHILD=1")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		addr := listening(t, stderr, 1)
		if len(addr) == 0 {
			t.Fatal("it does not listen")
		}
		conn, err := net.Dial("tcp", addr[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		// Everything acknowledged before is known: a gap would be refused.
		from := acknowledged + 1
		go func() {
			for k := from; k <= events; k++ {
				if _, err := fmt.Fprintf(conn,
					`{"host":"p1","clock":{"p1":%d},"event":"e%d","vars":{"x":%v}}`+"\n", k, k,
					k%2 == 0); err != nil {
					return
				}
			}
		}()
		first := acknowledged
		kill := 100 * (round + 1)
		in := bufio.NewScanner(conn)
		for in.Scan() {
			var line int
			if _, err := fmt.Sscanf(in.Text(), "ok %d", &line); err != nil {
				t.Fatalf("round %d: %s", round, in.Text())
			}
			acknowledged = first + line
			if round < 6 && line >= kill || acknowledged == events {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		conn.Close()
		if err := in.Err(); err != nil || acknowledged == first {
			t.Fatalf("round %d: %d events were acknowledged: %v", round, acknowledged, err)
		}
	}
	var out, errs bytes.Buffer
	code := Monitor(context.Background(), nil,
		[]string{"-poss", "p1.x && p2.x", "-journal", journal},
		strings.NewReader(`{"host":"p2","clock":{"p2":1},"vars":{"x":false}}`), &out, &errs)
	if code != exitFine || !strings.Contains(out.String(), fmt.Sprint(events+1, " events")) ||
		errs.Len() > 0 {
		t.Errorf("code %d, %s %s", code, &out, &errs)
	}
}
