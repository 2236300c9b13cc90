// Package pool runs jobs in a fixed number of goroutines.
package pool

import "sync"

// Pool is a set of workers.
type Pool struct {
	jobs    chan func() int
	results chan int
	wg      sync.WaitGroup
}

// New starts n workers.
func New(n int) *Pool {
	p := &Pool{jobs: make(chan func() int), results: make(chan int)}
	for range n {
		p.wg.Add(1)
		go p.worker()
	}
	return p
}

func (p *Pool) worker() {
	defer p.wg.Done()
	for job := range p.jobs {
		p.results <- job()
	}
}

// Submit hands a job to a worker.
func (p *Pool) Submit(job func() int) { p.jobs <- job }

// Shutdown takes the results until all workers have ended, and returns them.
func (p *Pool) Shutdown() []int {
	close(p.jobs)
	go func() {
		p.wg.Wait()
		close(p.results)
	}()
	var all []int
	for r := range p.results {
		all = append(all, r)
	}
	return all
}
