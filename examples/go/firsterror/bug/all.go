// Package all runs functions at once and returns the first error.
package all

// Run runs the functions and returns the first error. Whoever fails after the
// first one waits forever: nobody receives a second error.
func Run(fs ...func() error) error {
	errs := make(chan error)
	for _, f := range fs {
		go func() { errs <- f() }()
	}
	for range fs {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
