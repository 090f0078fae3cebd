#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# autogen.sh - makes ./configure and Makefile.in from configure.ac, m4/, Makefile.am and each folder's local.mk
set -eu
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --force --warnings=all,no-obsolete
