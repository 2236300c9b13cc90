/* filesystem.pml: threads allocate disk blocks to inodes; the Promela twin of
 * filesystem.model (Flanagan, Godefroid, POPL 2005; Gueta et al., SPIN 2007,
 * appendix A.6). spin -DN=6 -a filesystem.pml
 *
 * A process that is done waits forever (false) instead of dying: the step in
 * which a process dies would be one more local state.
 */
#ifndef N
#define N 6
#endif
#define INODES 32
#define BLOCKS 26

bool locki[INODES];
byte inode[INODES];
bool lockb[BLOCKS];
bool busy[BLOCKS];

active [N] proctype File() {
	byte b = ((_pid % INODES) * 2) % BLOCKS;

	d_step { !locki[_pid % INODES] -> locki[_pid % INODES] = true };
	if
	:: inode[_pid % INODES] == 0 ->
		do
		:: d_step { !lockb[b] -> lockb[b] = true };
		   if
		   :: !busy[b] ->
			busy[b] = true;
			inode[_pid % INODES] = b + 1;
			lockb[b] = false;
			break
		   :: else ->
			d_step { lockb[b] = false; b = (b + 1) % BLOCKS }
		   fi
		od
	:: else
	fi;
	locki[_pid % INODES] = false;
end:	false
}
