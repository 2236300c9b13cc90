package temporal

// Hurry has small searches do what otherwise only large ones do, and undoes that.
func Hurry(yes bool) {
	pace.compile, pace.walk = 1<<13, 1<<11
	pace.window, pace.sample, pace.sampleEvery = 1<<10, 1<<6, 32
	if yes {
		pace.compile, pace.walk = 1, 1
		pace.window, pace.sample, pace.sampleEvery = 4, 2, 2
	}
}
