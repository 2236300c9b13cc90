// Command goroutines runs a small program with goroutines, channels and a lock
// and writes its execution trace, with the program's variables in it:
//
//	go run ./detect/benchmarks/goroutines -trace run.trace
//	cpor detect -poss 'exists i < j: i.working && j.working' run.trace
//
// A feeder hands jobs to workers over a channel without a buffer; each worker
// logs working=true while it has a job, and counts under a lock. With -serial,
// it works under a lock for which the others wait.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/trace"
	"sync"
	"time"
)

func main() {
	workers := flag.Int("workers", 3, "number of workers")
	jobs := flag.Int("jobs", 6, "number of jobs")
	serial := flag.Bool("serial", false, "work under a lock")
	path := flag.String("trace", "run.trace", "write the trace to `FILE`")
	flag.Parse()
	file, err := os.Create(*path)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(file, *workers, *jobs, *serial); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, workers, jobs int, serial bool) error {
	if err := trace.Start(w); err != nil {
		return err
	}
	defer trace.Stop()
	ctx := context.Background()
	queue := make(chan int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for job := range queue {
				if serial {
					mu.Lock()
				}
				trace.Log(ctx, "", fmt.Sprintf("working=true job=%d", job))
				time.Sleep(time.Millisecond)
				trace.Log(ctx, "", "working=false")
				if serial {
					mu.Unlock()
				}
			}
		})
	}
	for job := range jobs {
		trace.Log(ctx, "fed", fmt.Sprint(job+1))
		queue <- job
	}
	close(queue)
	wg.Wait()
	trace.Log(ctx, "done", "true")
	return nil
}
