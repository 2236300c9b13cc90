// Package all runs functions at once and returns the first error.
package all

// Run runs the functions and returns the first error. There is room for the
// result of each.
func Run(fs ...func() error) error {
	errs := make(chan error, len(fs))
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
