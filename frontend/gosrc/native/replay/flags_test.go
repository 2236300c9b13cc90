package replay

import "flag"

var many = flag.Int("programs", 300, "how many generated programs are explored")
