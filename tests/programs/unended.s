# SPDX-License-Identifier: Apache-2.0
# tests/programs/unended.s - names of functions that reach the end of their section before their own
#
# DWARF 4 by hand: `good` has a name that ends, `shared` one that is the last of .debug_str and has no NUL, `inside`
# one that is the last of .debug_info and has none. For x86-64: cc -nostdlib -static.
	.text
	.globl	_start
_start:
good:
	.fill	16, 1, 0x90
shared:
	.fill	16, 1, 0x90
inside:
	.fill	16, 1, 0x90
end:
	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11		# DW_TAG_compile_unit, with children
	.byte	1
	.uleb128 0x11, 0x01		# DW_AT_low_pc, DW_FORM_addr
	.uleb128 0x12, 0x06		# DW_AT_high_pc, DW_FORM_data4
	.uleb128 0, 0
	.uleb128 2, 0x2e		# DW_TAG_subprogram, without
	.byte	0
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x06
	.uleb128 0x03, 0x0e		# DW_AT_name, DW_FORM_strp
	.uleb128 0, 0
	.uleb128 3, 0x2e
	.byte	0
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x06
	.uleb128 0x03, 0x08		# DW_AT_name, DW_FORM_string
	.uleb128 0, 0
	.uleb128 0
	.section .debug_str,"",@progbits
.Lgood:
	.asciz	"good"
.Lshared:
	.ascii	"shared"
	.section .debug_info,"",@progbits
	.long	.Lunit_end - .Lunit
.Lunit:
	.short	4
	.long	.debug_abbrev
	.byte	8
	.uleb128 1
	.quad	good
	.long	end - good
	.uleb128 2
	.quad	good
	.long	shared - good
	.long	.Lgood
	.uleb128 2
	.quad	shared
	.long	inside - shared
	.long	.Lshared
	.uleb128 3
	.quad	inside
	.long	end - inside
	.ascii	"inside"
.Lunit_end:
