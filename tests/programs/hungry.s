# SPDX-License-Identifier: Apache-2.0
# tests/programs/hungry.s - a program for x86-64 that spins, and whose line table takes all memory of who reads it
#
# Eight million rows for one address, each a byte in the file and tens of bytes in a reader's memory. The rest of its
# DWARF 4 is what it takes to come that far: one unit, with a range and a line table.
	.text
	.globl main
	.type main, @function
main:
	.cfi_startproc
1:	jmp 1b
	.cfi_endproc
.Lend:
	.size main, . - main
	# A unit: its line table, where it begins, how long it is.
	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11
	.byte 0
	.uleb128 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0
	.byte 0
	.section .debug_info,"",@progbits
	.long 2f - 1f
1:	.value 4
	.long 0
	.byte 8
	.uleb128 1
	.long 0
	.quad main
	.quad .Lend - main
2:
	# Version 4, opcodes as gcc has them, one file; set the address, then rows that advance the line by 3.
	.section .debug_line,"",@progbits
	.long 2f - 1f
1:	.value 4
	.long 4f - 3f
3:	.byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
	.byte 0
	.asciz "hungry.c"
	.uleb128 0, 0, 0
	.byte 0
4:	.byte 0, 9, 2
	.quad main
	.fill 8000000, 1, 0x15
	.byte 0, 1, 1
2:
	.section .note.GNU-stack,"",@progbits
