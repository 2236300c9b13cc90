package mpi

import (
	"strings"
	"testing"
)

// TestLaunched: who started a process, as how many ranks, which family of libraries is tried
// first, and how to start such ranks again, by the environment that each launcher was seen to set.
func TestLaunched(t *testing.T) {
	for _, test := range []struct {
		name, env string
		launcher  string // "" if there is none
		size      int
		opens     string // the library that is tried first
		command   string
	}{
		{"nobody", "", "", 0, "", "mpirun -n 4"},
		{"a job of Slurm", "SLURM_JOB_ID=7", "", 0, "", "srun --mpi=pmix -n 4"},
		{"Open MPI", "OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=0", "Open MPI's mpirun", 2, "libmpi.so.40",
			"mpirun -n 4"},
		{"Open MPI, its daemons started by srun",
			"OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=0 SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=2 " +
				"SLURM_MPI_TYPE=none",
			"Open MPI's mpirun", 2, "libmpi.so.40", "mpirun -n 4"},
		{"MPICH", "PMI_SIZE=3 PMI_RANK=0 MPI_LOCALNRANKS=3", "MPICH's mpirun", 3, "libmpich.so.12",
			"mpirun -n 4"},
		{"MPICH, its proxies started by srun",
			"PMI_SIZE=3 PMI_RANK=0 MPI_LOCALNRANKS=1 SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=3 " +
				"SLURM_MPI_TYPE=none",
			"MPICH's mpirun", 3, "libmpich.so.12", "mpirun -n 4"},
		{"srun with PMIx", "PMIX_RANK=0 SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=3 SLURM_MPI_TYPE=pmix",
			"srun", 3, "libmpi.so.40", "srun --mpi=pmix -n 4"},
		{"srun with PMI-2", "PMI_SIZE=3 PMI_RANK=0 SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=3 " +
			"SLURM_MPI_TYPE=pmi2", "srun", 3, "libmpich.so.12", "srun --mpi=pmi2 -n 4"},
		{"an older srun", "PMIX_RANK=0 SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=3", "srun", 3,
			"libmpi.so.40", "srun -n 4"},
		{"srun without an MPI", "SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS=3", "", 0, "",
			"srun --mpi=pmix -n 4"},
		{"no number", "OMPI_COMM_WORLD_SIZE=x", "", 0, "", "mpirun -n 4"},
	} {
		env := map[string]string{}
		for _, v := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		get := func(name string) string { return env[name] }
		l, ok := launched(get)
		if ok != (test.launcher != "") || l.name != test.launcher || l.size != test.size {
			t.Errorf("%s: %+v, %v; want %s, %d", test.name, l, ok, test.launcher, test.size)
		}
		if ok && l.candidates(get)[0] != test.opens {
			t.Errorf("%s: tries %s first, want %s", test.name, l.candidates(get)[0], test.opens)
		}
		if got := strings.Join(command(get, 4), " "); got != test.command {
			t.Errorf("%s: %q, want %q", test.name, got, test.command)
		}
	}
}
