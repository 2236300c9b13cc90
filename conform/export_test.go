package conform

// SetMinSettle lets a monitor drop nodes when so many are kept. It returns how to undo that.
func SetMinSettle(n int) (undo func()) {
	old := minSettle
	minSettle = n
	return func() { minSettle = old }
}
