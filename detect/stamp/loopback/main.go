// Command loopback is an example of package stamp: three processes on the loopback interface, each
// with a log of its own. Two workers ask a server for a lock, over HTTP.
//
//	go run ./detect/stamp/loopback -dir logs
//	cpor detect -poss 'a.crit && b.crit' logs/a.log logs/b.log logs/server.log
//
// With -broken, a worker releases the lock before it leaves its critical section. Whether the
// other one enters in between depends on the timing, and is seldom seen. That it is possible is in
// the clocks of every run. The model in lock.model says what they are supposed to do, and refuses
// the log of every broken run:
//
//	cpor conform detect/stamp/loopback/lock.model logs/a.log logs/b.log logs/server.log
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"cpor/detect/stamp"
)

func main() {
	dir := flag.String("dir", ".", "the `directory` of the logs")
	broken := flag.Bool("broken", false, "release the lock too early")
	weak := flag.Bool("weak", false, "weak vector clocks")
	rounds := flag.Int("rounds", 3, "critical sections of each worker")
	role := flag.String("role", "", "internal: server, or the name of a worker")
	url := flag.String("url", "", "internal: of the server")
	flag.Parse()
	var err error
	switch *role {
	case "":
		err = start(*dir, *broken, *weak, *rounds)
	default:
		err = process(*role, *url, *dir, *broken, *weak, *rounds)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// start runs the three processes.
func start(dir string, broken, weak bool, rounds int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	command := func(role, url string) *exec.Cmd {
		c := exec.Command(self, "-role", role, "-url", url, "-dir", dir,
			fmt.Sprint("-broken=", broken), fmt.Sprint("-weak=", weak),
			fmt.Sprint("-rounds=", rounds))
		c.Stderr = os.Stderr
		return c
	}
	server := command("server", "")
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	var url string
	if _, err := fmt.Fscan(out, &url); err != nil {
		return errors.Join(err, server.Wait())
	}
	a, b := command("a", url), command("b", url)
	err = errors.Join(a.Start(), b.Start())
	if err == nil {
		err = errors.Join(a.Wait(), b.Wait())
	}
	return errors.Join(err, in.Close(), server.Wait()) // the server ends with its standard input
}

// process is one of the three.
func process(role, url, dir string, broken, weak bool, rounds int) (err error) {
	f, err := os.Create(filepath.Join(dir, role+".log"))
	if err != nil {
		return err
	}
	p, err := stamp.New(role, f, stamp.Options{Weak: weak})
	if err != nil {
		return err
	}
	if role == "server" {
		err = serve(p)
	} else {
		err = work(p, url, broken, rounds)
	}
	return errors.Join(err, p.Err(), f.Close())
}

// serve hands out a lock until the standard input ends.
func serve(p *stamp.Process) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	free := make(chan bool, 1)
	free <- true
	mux := http.NewServeMux()
	mux.HandleFunc("/lock", func(http.ResponseWriter, *http.Request) { <-free })
	mux.HandleFunc("/unlock", func(http.ResponseWriter, *http.Request) { free <- true })
	s := &http.Server{Handler: p.Handler(mux)}
	go func() {
		fmt.Println("http://" + l.Addr().String())
		io.Copy(io.Discard, os.Stdin)
		s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// work enters and leaves a critical section.
func work(p *stamp.Process, url string, broken bool, rounds int) error {
	client := &http.Client{Transport: p.Transport(nil)}
	post := func(path string) error {
		res, err := client.Post(url+path, "", nil)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
	p.Set("crit", false)
	for range rounds {
		if err := post("/lock"); err != nil {
			return err
		}
		p.Set("crit", true)
		if !broken {
			p.Set("crit", false)
		}
		if err := post("/unlock"); err != nil {
			return err
		}
		if broken {
			p.Set("crit", false)
		}
	}
	return nil
}
