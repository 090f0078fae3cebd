# SPDX-License-Identifier: Apache-2.0
# tests/contract/local.mk - what every plugin of a kind must do, whoever wrote it
#
# To hold another storage plugin against the contract:
#
#	tests/contract/test_storage FILE.so '{ path: "{DIR}", ... }'
contract_tests = tests/contract/test_storage
tests_contract_test_storage_SOURCES = \
	tests/contract/storage_answers.c tests/contract/storage_answers.h \
	tests/contract/storage_host.c tests/contract/storage_host.h \
	tests/contract/storage_random.c tests/contract/storage_random.h \
	tests/contract/storage_sql.c tests/contract/storage_sql.h \
	tests/contract/test_storage.c \
	$(RANDOM_BATCH)
tests_contract_test_storage_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_contract_test_storage_LDADD = $(CODEC_LA) $(CONFIG_LA) $(SQLITE_LIBS) $(UNIT_LIBS) -ldl

if HAVE_CMOCKA
if HAVE_SQLITE
check_PROGRAMS += $(contract_tests)
TESTS += $(contract_tests)
else
EXTRA_PROGRAMS += $(contract_tests)
endif
else
EXTRA_PROGRAMS += $(contract_tests)
endif
